#include "autobatch/simcuda/card.h"

namespace autobatch::simcuda {

int CoresPerMultiprocessor(const Card& card) {
  switch (card.compute_capability()) {
    case 60:
    case 70:
    case 75:
    case 80:
      return 64;
    default:
      return 128;
  }
}

int BlocksPerMultiprocessor(const Card& card) {
  switch (card.compute_capability()) {
    case 75:
    case 86:
      return 16;
    case 89:
    case 120:
      return 24;
    default:
      return 32;
  }
}

}  // namespace autobatch::simcuda
