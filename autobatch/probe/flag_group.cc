#include "autobatch/probe/flag_group.h"

#include <string>
#include <vector>

namespace autobatch {

namespace po = boost::program_options;

constexpr unsigned kLineLength = 96;

FlagGroup::FlagGroup(const char* title) : options_description(title, kLineLength) {}

FlagGroup& FlagGroup::Value(const char* name, const char* value, const char* help) {
  add_options()(name, po::value<std::string>()->value_name(value), help);
  return *this;
}

FlagGroup& FlagGroup::Values(const char* name, const char* value, const char* help) {
  add_options()(name, po::value<std::vector<std::string>>()->value_name(value), help);
  return *this;
}

FlagGroup& FlagGroup::Switch(const char* name, const char* help) {
  add_options()(name, po::bool_switch(), help);
  return *this;
}

FlagGroup& FlagGroup::HelpAndVersion() {
  return Switch("help,h", "this text").Switch("version", "the version");
}

}  // namespace autobatch
