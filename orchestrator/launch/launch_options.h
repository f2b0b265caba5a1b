#ifndef ORCHESTRATOR_LAUNCH_LAUNCH_OPTIONS_H_
#define ORCHESTRATOR_LAUNCH_LAUNCH_OPTIONS_H_

#include <boost/program_options.hpp>
#include <string>

namespace autobatch {

// The options of `launch` itself, in the groups in which --help lists them; those of the agent that
// it may host are not among them.
boost::program_options::options_description LaunchOptions();

// What --help prints; `agent_options` lists the agent's own.
std::string LaunchHelpText(const std::string& agent_options);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_LAUNCH_OPTIONS_H_
