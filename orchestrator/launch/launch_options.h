#ifndef ORCHESTRATOR_LAUNCH_LAUNCH_OPTIONS_H_
#define ORCHESTRATOR_LAUNCH_LAUNCH_OPTIONS_H_

#include <boost/program_options.hpp>
#include <string>

namespace autobatch {

// The options of `launch` itself.
boost::program_options::options_description LaunchOptions();

// Those that are handed to the coordinator hosted here, as they are: what it is to agree on, which
// has to be the same on every node that might host it, and how it goes about it. Of the latter some
// are the agent's too.
boost::program_options::options_description HostedPlanOptions();
boost::program_options::options_description HostedCoordinatorOptions();

// Every option: these, and those of the agent hosted here, which is handed what is left.
boost::program_options::options_description AllLaunchOptions();

// What --help prints.
std::string LaunchHelpText();

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_LAUNCH_OPTIONS_H_
