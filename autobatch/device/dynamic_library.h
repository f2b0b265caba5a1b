#ifndef AUTOBATCH_DEVICE_DYNAMIC_LIBRARY_H_
#define AUTOBATCH_DEVICE_DYNAMIC_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace autobatch {

// A shared library opened at run time; closed when the object goes.
class DynamicLibrary {
 public:
  // NotFound, in the loader's own words, where it cannot be opened.
  static absl::StatusOr<DynamicLibrary> Open(const std::string& name);

  // What this process has already: the program, the libraries that it is linked with, and those of
  // LD_PRELOAD.
  static DynamicLibrary OfProcess();

  bool Has(const char* symbol) const { return Address(symbol) != nullptr; }

  // Sets `function` to the symbol, or to null where the library lacks it.
  //   library.Find("nvmlInit_v2", init);
  template <typename Function>
  void Find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(Address(symbol));
  }

  // Never closes it: what was found stays valid when the object goes. For libraries whose own
  // threads may run until the process ends.
  void StayLoaded() { handle_.get_deleter().stay = true; }

 private:
  struct Close {
    void operator()(void* handle) const;
    bool stay;
  };
  explicit DynamicLibrary(void* handle) : handle_(handle, Close{.stay = false}) {}
  void* Address(const char* symbol) const;

  std::unique_ptr<void, Close> handle_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DYNAMIC_LIBRARY_H_
