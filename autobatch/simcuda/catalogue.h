#ifndef AUTOBATCH_SIMCUDA_CATALOGUE_H_
#define AUTOBATCH_SIMCUDA_CATALOGUE_H_

#include <string>
#include <string_view>
#include <vector>

#include "autobatch/simcuda/card.h"

namespace autobatch::simcuda {

// The cards of cards.csv, in its order. The table is part of the library, so that a preloaded
// process needs no file.
const std::vector<Card>& Catalogue();

// The card of that id; null where there is none.
const Card* FindCard(std::string_view id);

// "unknown card 'rtx3900'; the nearest is 'rtx3090'"
std::string UnknownCard(std::string_view id);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CATALOGUE_H_
