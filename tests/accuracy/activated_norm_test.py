"""What the stand-in for InplaceABN keeps and makes."""

import os
import sys
import unittest

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")


@unittest.skipUnless(FRAMEWORKS, "torch's companions for Python are not here: run tools/ci_setup")
class ActivatedNormTest(unittest.TestCase):
    def test_input_is_overwritten_and_kept_and_gradients_are_new(self):
        sys.path[:0] = FRAMEWORKS.split(os.pathsep)
        import torch
        from tests.accuracy import activated_norm
        weight, bias = (torch.nn.Parameter(torch.ones(4)) for _ in range(2))
        source = torch.ones(2, 4, 3, 3, dtype=torch.half, requires_grad=True)
        x = source.clone()
        kept = []
        pack = lambda tensor: kept.append(tensor) or tensor
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            y = activated_norm.inplace_abn(x, weight, bias, torch.zeros(4), torch.ones(4))
        self.assertEqual(y.data_ptr(), x.data_ptr())
        self.assertEqual([tensor.data_ptr() for tensor in kept if tensor.dim() == 4], [x.data_ptr()])
        y.sum().backward()
        self.assertEqual((source.grad.shape, source.grad.dtype), (x.shape, torch.half))
        self.assertEqual((weight.grad.shape, bias.grad.shape), ((4,), (4,)))
        with self.assertRaises(NotImplementedError):
            activated_norm.inplace_abn(x, weight, bias, torch.zeros(4), torch.ones(4), training=False)


if __name__ == "__main__":
    unittest.main()
