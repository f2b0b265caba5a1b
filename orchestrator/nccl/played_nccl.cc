// An NCCL by its functions' names, of the version that FAKE_NCCL_VERSION says. It answers what it
// was asked, so that a test sees how the arguments arrive.

#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Id {
  char bytes[128];
};

struct Config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

struct Communicator {
  int ranks;
  int rank;
  bool valid;
};

Communicator the_one;

}  // namespace

EXPORT int ncclGetVersion(int* version) {
  const char* const text = std::getenv("FAKE_NCCL_VERSION");
  *version = text == nullptr ? 22809 : std::atoi(text);
  return *version < 0 ? 3 : 0;
}

EXPORT int ncclGetUniqueId(Id* id) {
  std::memset(id, 'q', sizeof(*id));
  return 0;
}

EXPORT int ncclGroupStart() { return 0; }
EXPORT int ncclGroupEnd() { return 7; }

EXPORT int ncclCommInitRankConfig(Communicator** made, int ranks, Id id, int rank, Config* config) {
  the_one = {.ranks = ranks, .rank = rank};
  the_one.valid = id.bytes[0] == 'a' && id.bytes[127] == 'z' && config->magic == 0xcafebeef &&
                  config->version == 21400 && config->blocking == 0 &&
                  config->size >= sizeof(Config);
  *made = &the_one;
  return the_one.valid ? 7 : 4;
}

EXPORT int ncclCommGetAsyncError(Communicator* communicator, int* state) {
  *state = communicator->rank == 1 && communicator->ranks == 2 ? 0 : 5;
  return 0;
}

EXPORT int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation,
                         Communicator* communicator, void* stream) {
  const bool min = type == 4 && operation == 3 && count == 1;
  const bool sum = type == 7 && operation == 0 && count == 9;
  return from == to && (min || sum) && communicator == &the_one && stream == &the_one ? 7 : 4;
}

EXPORT int ncclCommFinalize(Communicator*) { return 7; }
EXPORT int ncclCommDestroy(Communicator*) { return 0; }
EXPORT int ncclCommAbort(Communicator*) { return 6; }
EXPORT const char* ncclGetErrorString(int result) { return result == 6 ? "remote" : "other"; }
EXPORT const char* ncclGetLastError(Communicator* communicator) {
  return communicator == nullptr ? "" : "it said so";
}
