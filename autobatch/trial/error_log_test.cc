#include "autobatch/trial/error_log.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

std::string Line(absl::string_view log) { return FindLoggedError(log, 40).line; }

TEST(ErrorLogTest, LogWithoutATrace_EndsInItsError) {
  EXPECT_EQ(Line(""), "");
  EXPECT_EQ(Line("  \n---\n"), "") << "a ruler is no word";
  EXPECT_EQ(Line("usage: t.py\nt.py: error: no argument --x\n\n=====\n"),
            "t.py: error: no argument --x");
}

TEST(ErrorLogTest, Trace_EndsInItsErrorWhateverFollows) {
  EXPECT_EQ(Line("warning: w\n"
                 "Traceback (most recent call last):\n"
                 "  File \"t.py\", line 2, in <module>\n"
                 "    ^^^^^\n"
                 "torch.AcceleratorError: CUDA error: operation not supported\n"
                 "Search for `x' in https://…\n"
                 "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n\n"),
            "torch.AcceleratorError: CUDA error: operation not supported");
}

TEST(ErrorLogTest, ChainOfErrors_IsWhatEndedTheProgram) {
  EXPECT_EQ(Line("Traceback (most recent call last):\n  File …\nKeyError: 'label'\n\n"
                 "The above exception was the direct cause of the following exception:\n\n"
                 "Traceback (most recent call last):\n  File …\nRuntimeError: data is broken\n"),
            "RuntimeError: data is broken");
}

// Two ranks fail, the second of the first one's absence; torchrun sums up.
constexpr char kRanks[] =
    "[rank1]: Traceback (most recent call last):\n"
    "[rank0]: Traceback (most recent call last):\n"
    "[rank1]:   File \"t.py\", line 9, in deep\n"
    "[rank1]: KeyError: 'label'\n"
    "[rank0]:   File \"t.py\", line 12\n"
    "\n"
    "[rank1]: The above exception was the direct cause of the following exception:\n"
    "\n"
    "[rank1]: Traceback (most recent call last):\n"
    "[rank0]: torch.distributed.DistBackendError: NCCL error: remote process exited\n"
    "[rank1]:   File \"t.py\", line 14\n"
    "[rank1]: RuntimeError: data is broken\n"
    "E1130 api.py:986] failed (exitcode: 1) local_rank: 1\n"
    "Traceback (most recent call last):\n"
    "  File \"torchrun\", line 8, in <module>\n"
    "    raise ChildFailedError(\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "============\n"
    "t.py FAILED\n"
    "============\n";

TEST(ErrorLogTest, Ranks_HaveTheErrorOfTheFirstThatFailed) {
  EXPECT_EQ(Line(kRanks), "RuntimeError: data is broken");
}

TEST(ErrorLogTest, LaunchersOwnTrace_CountsWhereThereIsNothingElse) {
  EXPECT_EQ(Line("Traceback (most recent call last):\n  File …\n"
                 "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                 "t.py FAILED\n====\n"),
            "t.py FAILED");
  // Of a PyTorch that does not mark its ranks.
  EXPECT_EQ(Line("Traceback (most recent call last):\n  File …\nValueError: v\n"
                 "Traceback (most recent call last):\n  File …\n"
                 "subprocess.CalledProcessError: Command '[…]' returned 1\n"),
            "ValueError: v");
}

TEST(ErrorLogTest, Excerpt_EndsWithTheErrorAndKeepsToItsLength) {
  const std::string excerpt = FindLoggedError(kRanks, 3).excerpt;
  EXPECT_EQ(excerpt,
            "[rank0]: torch.distributed.DistBackendError: NCCL error: remote process exited\n"
            "[rank1]:   File \"t.py\", line 14\n"
            "[rank1]: RuntimeError: data is broken");
  EXPECT_EQ(FindLoggedError("a\nb\nc", 2).excerpt, "b\nc");
  EXPECT_EQ(FindLoggedError("a", 2).excerpt, "a");
}

TEST(ErrorLogTest, MarksThatAreNone_AreText) {
  EXPECT_EQ(Line("[rank]: a\n[rank0 b"), "[rank0 b");
  EXPECT_EQ(Line("[rank0]:"), "[rank0]:");
}

}  // namespace
}  // namespace autobatch
