#include "autobatch/worker/models/detection_loss.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numbers>

namespace autobatch {
namespace {

constexpr int64_t kAnchorsPerObject = 10;
constexpr double kScoreExponent = 0.5;
constexpr double kOverlapExponent = 6.0;
constexpr double kBoxGain = 7.5;
constexpr double kClassGain = 0.5;
constexpr double kDistributionGain = 1.5;
constexpr double kEpsilon = 1e-7;

// Complete IoU of boxes (..., 4), broadcast against each other.
at::Tensor CompleteIou(const at::Tensor& a, const at::Tensor& b) {
  const std::vector<at::Tensor> p = a.unbind(-1);
  const std::vector<at::Tensor> q = b.unbind(-1);
  const at::Tensor p_width = p[2] - p[0];
  const at::Tensor p_height = p[3] - p[1] + kEpsilon;
  const at::Tensor q_width = q[2] - q[0];
  const at::Tensor q_height = q[3] - q[1] + kEpsilon;

  const auto overlap = [&](int low, int high) {
    return (at::minimum(p[high], q[high]) - at::maximum(p[low], q[low])).clamp_min_(0);
  };
  const auto hull = [&](int low, int high) {
    return at::maximum(p[high], q[high]) - at::minimum(p[low], q[low]);
  };
  const auto distance = [&](int low, int high) {
    return (q[low] + q[high] - p[low] - p[high]).pow(2);
  };
  const at::Tensor shared = overlap(0, 2) * overlap(1, 3);
  const at::Tensor area = p_width * p_height + q_width * q_height - shared + kEpsilon;
  const at::Tensor iou = shared / area;
  const at::Tensor diagonal = hull(0, 2).pow(2) + hull(1, 3).pow(2) + kEpsilon;
  const at::Tensor centres = (distance(0, 2) + distance(1, 3)) / 4;
  const at::Tensor shape = (at::atan(q_width / q_height) - at::atan(p_width / p_height)).pow(2) *
                           (4 / (std::numbers::pi * std::numbers::pi));
  const at::Tensor weight = (shape / (shape - iou + (1 + kEpsilon))).detach();
  return iou - (centres / diagonal + shape * weight);
}

// The rows of `values` (images, anchors, ...) that `rows` numbers, images and anchors flattened.
at::Tensor Rows(const at::Tensor& values, const at::Tensor& rows) {
  return values.flatten(0, 1).index_select(0, rows);
}

// Cross entropy of each side's two bins around its distance, weighted by nearness.
//   bins (n, 4 * kDistanceBins), distances (n, 4) in strides -> (n, 1)
at::Tensor DistributionLoss(const at::Tensor& bins, const at::Tensor& distances) {
  const at::Tensor logits = bins.reshape({-1, kDistanceBins});
  const at::Tensor target = distances.clamp(0, kDistanceBins - 1 - 0.01);
  const at::Tensor below = target.to(at::kLong);
  const at::Tensor above_share = target - below;
  const auto entropy = [&](const at::Tensor& bin) {
    return at::cross_entropy_loss(logits, bin.flatten(), {}, at::Reduction::None)
        .view(below.sizes());
  };
  return (entropy(below) * (1 - above_share) + entropy(below + 1) * above_share).mean(-1, true);
}

// Centres of the cells of all maps, in strides, and each one's stride: (anchors, 2), (anchors, 1).
std::pair<at::Tensor, at::Tensor> Anchors(const std::vector<at::Tensor>& maps,
                                          const std::vector<int64_t>& strides) {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(maps[0].device());
  std::vector<at::Tensor> points;
  std::vector<at::Tensor> sizes;
  for (size_t i = 0; i < maps.size(); ++i) {
    const at::Tensor y = at::arange(maps[i].size(2), options) + 0.5;
    const at::Tensor x = at::arange(maps[i].size(3), options) + 0.5;
    const std::vector<at::Tensor> grid = at::meshgrid({y, x}, "ij");
    points.push_back(at::stack({grid[1].flatten(), grid[0].flatten()}, -1));
    sizes.push_back(at::full({y.size(0) * x.size(0), 1}, strides[i], options));
  }
  return {at::cat(points), at::cat(sizes)};
}

}  // namespace

Assignment AssignObjects(const at::Tensor& scores, const at::Tensor& boxes,
                         const at::Tensor& points, const Objects& objects) {
  const at::NoGradGuard no_grad;
  const int64_t anchors = scores.size(1);
  const at::Tensor corners = objects.boxes.unsqueeze(2);
  at::Tensor sides =
      at::cat({points - corners.slice(-1, 0, 2), corners.slice(-1, 2, 4) - points}, -1);
  const at::Tensor inside = sides.amin(-1) > kEpsilon;
  sides.reset();

  // (images, objects, anchors) from here on.
  at::Tensor overlaps = CompleteIou(corners, boxes.unsqueeze(1)).clamp_min_(0).mul_(inside);
  const at::Tensor wanted = objects.labels.unsqueeze(-1).expand({-1, -1, anchors});
  const at::Tensor alignment = scores.transpose(1, 2).gather(1, wanted).pow_(kScoreExponent) *
                               overlaps.pow(kOverlapExponent);

  const int64_t best = std::min(kAnchorsPerObject, anchors);
  const at::Tensor chosen = std::get<1>(alignment.topk(best, -1));
  at::Tensor claims = at::zeros_like(overlaps).scatter_(-1, chosen, 1).mul_(inside);
  const at::Tensor winner =
      at::zeros_like(overlaps).scatter_(1, overlaps.argmax(1, /*keepdim=*/true), 1);
  claims = at::where(claims.sum(1, /*keepdim=*/true) > 1, winner, claims);

  const at::Tensor owner = claims.argmax(1);
  Assignment result;
  result.positive = claims.amax(1) > 0;
  result.boxes = objects.boxes.gather(1, owner.unsqueeze(-1).expand({-1, -1, 4}));

  // The score to learn is high where an object's best anchor is good, and falls with alignment.
  const at::Tensor aligned = alignment * claims;
  const at::Tensor best_alignment = aligned.amax(-1, /*keepdim=*/true) + kEpsilon;
  const at::Tensor best_overlap = (overlaps * claims).amax(-1, /*keepdim=*/true);
  const at::Tensor quality = (aligned * best_overlap / best_alignment).amax(1).unsqueeze(-1);
  const at::Tensor labels = objects.labels.gather(1, owner).unsqueeze(-1);
  result.scores = at::zeros_like(scores).scatter_(-1, labels, quality);
  return result;
}

at::Tensor DetectionLoss(const std::vector<at::Tensor>& maps, const std::vector<int64_t>& strides,
                         const Objects& objects) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& map : maps) flat.push_back(map.flatten(2));
  const at::Tensor all = at::cat(flat, 2).transpose(1, 2);
  flat.clear();
  const at::Tensor bins = all.slice(2, 0, 4 * kDistanceBins).contiguous().to(at::kFloat);
  const at::Tensor scores = all.slice(2, 4 * kDistanceBins).contiguous().to(at::kFloat);
  const auto [points, sizes] = Anchors(maps, strides);

  const at::Tensor numbers = at::arange(kDistanceBins, bins.options());
  const at::Tensor sides = bins.unflatten(-1, {4, kDistanceBins}).softmax(-1).matmul(numbers);
  const at::Tensor boxes =
      at::cat({points - sides.slice(-1, 0, 2), points + sides.slice(-1, 2, 4)}, -1);

  const Assignment assigned =
      AssignObjects(scores.detach().sigmoid(), boxes.detach() * sizes, points * sizes, objects);
  const at::Tensor total = assigned.scores.sum().clamp_min(1);
  const at::Tensor class_loss =
      at::binary_cross_entropy_with_logits(scores, assigned.scores, {}, {}, at::Reduction::None)
          .sum() /
      total;

  const at::Tensor rows = assigned.positive.flatten().nonzero().squeeze(1);
  const at::Tensor weight = Rows(assigned.scores, rows).sum(-1, /*keepdim=*/true);
  const at::Tensor target = Rows(assigned.boxes / sizes, rows);
  const at::Tensor overlap = CompleteIou(Rows(boxes, rows), target).unsqueeze(-1);
  const at::Tensor box_loss = ((1 - overlap) * weight).sum() / total;

  const at::Tensor origin = points.index_select(0, rows % points.size(0));
  const at::Tensor distances =
      at::cat({origin - target.slice(-1, 0, 2), target.slice(-1, 2, 4) - origin}, -1);
  const at::Tensor distribution_loss =
      (DistributionLoss(Rows(bins, rows), distances) * weight).sum() / total;
  return kBoxGain * box_loss + kClassGain * class_loss + kDistributionGain * distribution_loss;
}

}  // namespace autobatch
