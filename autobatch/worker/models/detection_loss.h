#ifndef AUTOBATCH_WORKER_MODELS_DETECTION_LOSS_H_
#define AUTOBATCH_WORKER_MODELS_DETECTION_LOSS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace autobatch {

// Bins of the distribution over each side's distance from an anchor, in strides.
inline constexpr int64_t kDistanceBins = 16;

// Objects in a batch of images, the same number in each.
struct Objects {
  at::Tensor boxes;   // (images, objects, 4): left, top, right, bottom in pixels, fp32.
  at::Tensor labels;  // (images, objects): class numbers.
};

// Anchors to learn from, one row an anchor.
struct Assignment {
  at::Tensor boxes;     // (images, anchors, 4), of the object that an anchor has.
  at::Tensor scores;    // (images, anchors, classes), 0 where it has none.
  at::Tensor positive;  // (images, anchors), bool.
};

// Gives each object the ten anchors inside its box whose predictions agree with it best (Feng et
// al. 2021, "TOOD", with exponents 0.5 and 6), and an anchor that several objects claim to the one
// that it overlaps most. Works on dense (images, objects, anchors) tables, so that memory is set by
// the number of objects and not by where they lie. No gradient.
//   scores   (images, anchors, classes), probabilities
//   boxes    (images, anchors, 4) in pixels;  points (anchors, 2): the anchors' centres in pixels
Assignment AssignObjects(const at::Tensor& scores, const at::Tensor& boxes,
                         const at::Tensor& points, const Objects& objects);

// The loss of a detector without anchor boxes: complete IoU (Zheng et al. 2020) and distribution
// focal loss (Li et al. 2020) of the positive anchors' boxes, binary cross entropy of all scores.
//   maps   one a stride: (images, 4 * kDistanceBins + classes, height, width)
at::Tensor DetectionLoss(const std::vector<at::Tensor>& maps, const std::vector<int64_t>& strides,
                         const Objects& objects);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_MODELS_DETECTION_LOSS_H_
