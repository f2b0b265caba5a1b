#ifndef AUTOBATCH_PROBE_FLAG_GROUP_H_
#define AUTOBATCH_PROBE_FLAG_GROUP_H_

#include <boost/program_options.hpp>

namespace autobatch {

// A titled group of options, in the order in which --help lists them.
//
//   return FlagGroup("Rounds")
//       .Value("join-timeout", "T", "until the coordinator has let it in (default: 600s)")
//       .Switch("no-nccl", "take no part in a minimum over NCCL");
class FlagGroup : public boost::program_options::options_description {
 public:
  explicit FlagGroup(const char* title);

  // An option that takes a text, which its reader checks; `value` stands for it in --help.
  FlagGroup& Value(const char* name, const char* value, const char* help);
  // One that may be given again and again.
  FlagGroup& Values(const char* name, const char* value, const char* help);
  FlagGroup& Switch(const char* name, const char* help);

  // What every program has (see HelpOrVersion() of flag_reader.h).
  FlagGroup& HelpAndVersion();
};

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_FLAG_GROUP_H_
