#ifndef AUTOBATCH_TYPES_PLACE_H_
#define AUTOBATCH_TYPES_PLACE_H_

#include <cstddef>
#include <string>

namespace autobatch {

// Where a value stands in what was sent or read: "devices[0].margins[2].bytes". A chain of pointers
// that becomes words for an error only, since almost every value is right.
//
//   const Place devices("devices");
//   const Place device(devices, 0);
//   Place(device, "bytes").ToString();  // "devices[0].bytes"
//
// What it is made of outlives it.
class Place {
 public:
  // The whole.
  Place() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): most places are just a name.
  Place(const char* field) : field_(field) {}
  Place(const Place& outer, const char* field) : outer_(&outer), field_(field) {}
  Place(const Place& list, size_t index) : outer_(&list), index_(index) {}

  // Empty: the whole.
  std::string ToString() const;

 private:
  const Place* outer_ = nullptr;
  // Null: an element of a list.
  const char* field_ = nullptr;
  size_t index_ = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_PLACE_H_
