#ifndef AUTOBATCH_BASE_RANDOM_WORD_H_
#define AUTOBATCH_BASE_RANDOM_WORD_H_

#include <string>

namespace autobatch {

// 16 hexadecimal digits from the kernel: a name that nobody else has. Not std::random_device, which
// the compiler's library takes from a newer glibc than many nodes have.
std::string RandomWord();

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_RANDOM_WORD_H_
