"""What timm's InplaceAbn layers call, where its CUDA extension (mapillary/inplace_abn 1.0.12) is not at hand.

It computes nothing: what is kept, overwritten and made anew on the way is the extension's, in its order. Batch norm and
activation overwrite their input, which is kept for the backward pass in place of the convolution's output.
"""

import torch


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, running_var, momentum):
        mean, variance = (torch.empty_like(running_mean) for _ in range(2))
        count = torch.full((1,), x.numel() // x.shape[1], device=x.device)
        running_mean.mul_(1 - momentum).add_(momentum * mean)
        running_var.mul_(1 - momentum).add_(momentum * variance * count / (count - 1))
        ctx.save_for_backward(x, variance, count, weight, bias)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, _):
        y, variance, *_ = ctx.saved_tensors
        # Held until the gradient is there: it is made of them.
        normalized, gradient = torch.empty_like(y), torch.empty_like(y)
        sums = [torch.empty_like(variance) for _ in range(2)]
        del normalized
        return gradient, *sums, None, None, None


def inplace_abn(x, weight, bias, running_mean, running_var, training=True, momentum=0.1, *_):
    if not training:
        raise NotImplementedError("activated_norm stands in for training only")
    return _Function.apply(x, weight, bias, running_mean, running_var, momentum)
