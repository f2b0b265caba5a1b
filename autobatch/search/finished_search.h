#ifndef AUTOBATCH_SEARCH_FINISHED_SEARCH_H_
#define AUTOBATCH_SEARCH_FINISHED_SEARCH_H_

#include <string>

#include "autobatch/search/fake_curve.h"
#include "autobatch/search/search.h"

namespace autobatch {

// For tests: the search of this curve at its end. Fails a search that does not end, and an answer
// that no trial confirmed under its budget.
Search Finish(const SearchOptions& options, FakeCurve& curve);
Search Finish(const SearchOptions& options, FakeCurve::Options curve);

// Its warnings, one a line.
std::string Warnings(const Search& search);

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_FINISHED_SEARCH_H_
