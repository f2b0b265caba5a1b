#ifndef TESTS_SIM_SABOTAGE_H_
#define TESTS_SIM_SABOTAGE_H_

#include <boost/describe.hpp>

namespace autobatch::sim {

// A protection that is taken out, to see that the simulation notices: a test that cannot fail tests
// nothing.
enum class Sabotage {
  kNone,
  kFencing,         // Messages of earlier rounds pass for messages of the present one.
  kCommit,          // Agents start on a prepared record without waiting for the commit.
  kLease,           // Agents start on their record without asking whether it is still the newest.
  kAuthentication,  // The network lets a peer in that does not know the secret.
};
BOOST_DESCRIBE_ENUM(Sabotage, kNone, kFencing, kCommit, kLease, kAuthentication)

}  // namespace autobatch::sim

#endif  // TESTS_SIM_SABOTAGE_H_
