#ifndef AUTOBATCH_OBSERVER_REAL_FUNCTION_H_
#define AUTOBATCH_OBSERVER_REAL_FUNCTION_H_

#include <atomic>

namespace autobatch::observer {

using Dlsym = void* (*)(void*, const char*);

// The C library's dlsym, which ours stands in front of.
Dlsym RealDlsym();

// A real function: as the program found it, else the next in the search order, else in whatever
// library is loaded (Python loads its extensions out of everybody's sight).
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}

  void Set(void* function) {
    void* none = nullptr;
    function_.compare_exchange_strong(none, function);
  }

  // Null: no library that is loaded has it.
  template <typename Function>
  Function Get() {
    if (function_ == nullptr) Set(Find());
    return reinterpret_cast<Function>(function_.load());
  }

 private:
  void* Find() const;

  const char* const name_;
  std::atomic<void*> function_ = nullptr;
};

}  // namespace autobatch::observer

#endif  // AUTOBATCH_OBSERVER_REAL_FUNCTION_H_
