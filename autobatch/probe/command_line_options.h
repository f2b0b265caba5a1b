#ifndef AUTOBATCH_PROBE_COMMAND_LINE_OPTIONS_H_
#define AUTOBATCH_PROBE_COMMAND_LINE_OPTIONS_H_

#include <boost/program_options.hpp>
#include <string>

namespace autobatch {

// The options that say what is probed, on which devices and how.
boost::program_options::options_description ProbeOptions();

// These and what becomes of the result: every option of `probe`, in the groups in which --help
// lists them, with its default in words.
boost::program_options::options_description AllOptions();

// What --help prints.
std::string HelpText();

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_COMMAND_LINE_OPTIONS_H_
