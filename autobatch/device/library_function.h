#ifndef AUTOBATCH_DEVICE_LIBRARY_FUNCTION_H_
#define AUTOBATCH_DEVICE_LIBRARY_FUNCTION_H_

#include <string>
#include <type_traits>

#include "autobatch/device/dynamic_library.h"

namespace autobatch {

// A C function out of a library opened at run time: one that answers with a code, cast to the enum
// `Result`, or with a `Result`. A function that the library lacks answers kMissing. An adapter
// names its functions once, where they stand:
//   template <typename... Arguments>
//   using Function = LibraryFunction<DriverResult, kDriverNotFound, Arguments...>;
//   Function<int*> version_ = {library_, "cuDriverGetVersion"};
//   ...
//   return version_(&number);
template <typename Result, Result kMissing, typename... Arguments>
class LibraryFunction {
 public:
  // `older`: its name in libraries that do not have `symbol` yet. The library stays open for as
  // long as the function is called.
  LibraryFunction(const DynamicLibrary& library, const std::string& symbol,
                  const std::string& older = "") {
    library.Find(symbol.c_str(), function_);
    if (function_ == nullptr && !older.empty()) library.Find(older.c_str(), function_);
  }

  bool found() const { return function_ != nullptr; }
  const void* address() const { return reinterpret_cast<const void*>(function_); }

  // C tells no types; the sanitizer would compare the ones that each side wrote down.
  [[clang::no_sanitize("function")]] Result operator()(Arguments... arguments) const {
    return found() ? static_cast<Result>(function_(arguments...)) : kMissing;
  }

 private:
  using Answer = std::conditional_t<std::is_enum_v<Result>, int, Result>;

  Answer (*function_)(Arguments...) = nullptr;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_LIBRARY_FUNCTION_H_
