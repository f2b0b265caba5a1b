#include "orchestrator/nccl/nccl_library.h"

#include <dlfcn.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"
#include "autobatch/device/library_function.h"

namespace autobatch {
namespace {

constexpr int kFirstUsable = 21400;
// The next major version may mean something else by the same names.
constexpr int kFirstUnknown = 30000;

// ncclDataType_t and ncclRedOp_t.
constexpr int kInt64 = 4;
constexpr int kFloat32 = 7;
constexpr int kSum = 0;
constexpr int kMin = 3;

struct ById {
  char bytes[kUniqueIdBytes];
};

// ncclConfig_t as of 2.14; later versions read no more of it than its size says.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kFirstUsable;
  int blocking = 0;
};

template <typename... Arguments>
using Function = LibraryFunction<NcclResult, kNcclInternalError, Arguments...>;

template <typename... Arguments>
using TextFunction = LibraryFunction<const char*, nullptr, Arguments...>;

class NcclLibrary final : public NcclApi {
 public:
  explicit NcclLibrary(DynamicLibrary library) : library_(std::move(library)) {
    // Whoever makes an id leaves a thread of NCCL's behind.
    library_.StayLoaded();
  }

  // Functions that it should have.
  const std::vector<std::string>& missing() const { return missing_; }
  bool has_version() const { return version_.found(); }
  std::string Path() const {
    Dl_info info = {};
    if (dladdr(version_.address(), &info) == 0 || info.dli_fname == nullptr) return "";
    return info.dli_fname;
  }

  NcclResult GetVersion(int* version) override { return version_(version); }
  NcclResult GetUniqueId(UniqueId* id) override {
    return unique_id_(reinterpret_cast<ById*>(id->data()));
  }
  NcclResult GroupStart() override { return group_start_(); }
  NcclResult GroupEnd() override { return group_end_(); }
  NcclResult CommInitRank(NcclHandle* handle, int ranks, const UniqueId& id, int rank) override {
    ById bytes;
    static_assert(sizeof(bytes.bytes) == sizeof(id));
    std::copy(id.begin(), id.end(), bytes.bytes);
    Config config;
    return init_(handle, ranks, bytes, rank, &config);
  }
  NcclResult CommGetAsyncError(NcclHandle handle, NcclResult* state) override {
    int number = kNcclInternalError;
    const NcclResult result = async_error_(handle, &number);
    *state = static_cast<NcclResult>(number);
    return result;
  }
  NcclResult AllReduce(uint64_t device_address, size_t count, NcclReduction reduction,
                       NcclHandle handle, void* stream) override {
    const bool min = reduction == NcclReduction::kMinInt64;
    return all_reduce_(device_address, device_address, count, min ? kInt64 : kFloat32,
                       min ? kMin : kSum, handle, stream);
  }
  NcclResult CommFinalize(NcclHandle handle) override { return finalize_(handle); }
  NcclResult CommDestroy(NcclHandle handle) override { return destroy_(handle); }
  NcclResult CommAbort(NcclHandle handle) override { return abort_(handle); }
  std::string Describe(NcclResult result, NcclHandle handle) override {
    const char* const text = error_string_(result);
    const char* const last = last_error_(handle);
    const bool told = last != nullptr && *last != '\0';
    return absl::StrCat(text == nullptr ? "unknown result code" : text, told ? ": " : "",
                        told ? last : "");
  }

 private:
  // The symbol itself, noted where the library lacks it.
  const char* Needed(const char* symbol) {
    if (!library_.Has(symbol)) missing_.emplace_back(symbol);
    return symbol;
  }

  DynamicLibrary library_;
  std::vector<std::string> missing_;
  Function<int*> version_ = {library_, Needed("ncclGetVersion")};
  Function<ById*> unique_id_ = {library_, Needed("ncclGetUniqueId")};
  Function<> group_start_ = {library_, Needed("ncclGroupStart")};
  Function<> group_end_ = {library_, Needed("ncclGroupEnd")};
  Function<NcclHandle*, int, ById, int, Config*> init_ = {library_,
                                                          Needed("ncclCommInitRankConfig")};
  Function<NcclHandle, int*> async_error_ = {library_, Needed("ncclCommGetAsyncError")};
  Function<uint64_t, uint64_t, size_t, int, int, NcclHandle, void*> all_reduce_ = {
      library_, Needed("ncclAllReduce")};
  Function<NcclHandle> finalize_ = {library_, Needed("ncclCommFinalize")};
  Function<NcclHandle> destroy_ = {library_, Needed("ncclCommDestroy")};
  Function<NcclHandle> abort_ = {library_, Needed("ncclCommAbort")};
  TextFunction<int> error_string_ = {library_, Needed("ncclGetErrorString")};
  // Only of use to people; absent before 2.13.
  TextFunction<NcclHandle> last_error_ = {library_, "ncclGetLastError"};
};

absl::StatusOr<LoadedNccl> Use(std::unique_ptr<NcclLibrary> library) {
  const std::string path = library->Path();
  if (!library->missing().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has no ", absl::StrJoin(library->missing(), ", no ")));
  }
  AB_ASSIGN_OR_RETURN(std::string version, UsableNcclVersion(*library));
  return LoadedNccl{.api = std::move(library),
                    .description = {.version = std::move(version), .path = path}};
}

}  // namespace

absl::StatusOr<std::string> UsableNcclVersion(NcclApi& nccl) {
  int code = 0;
  if (const NcclResult result = nccl.GetVersion(&code); result != kNcclSuccess) {
    return absl::FailedPreconditionError(
        absl::StrCat("it does not tell its version: ", nccl.Describe(result, nullptr)));
  }
  const int major = code < 10000 ? code / 1000 : code / 10000;
  const int minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;
  std::string version = absl::StrCat(major, ".", minor, ".", code % 100);
  if (code < kFirstUsable) {
    return absl::FailedPreconditionError(
        absl::StrCat("version ", version,
                     " is older than 2.14, the first whose ranks can be waited for with a "
                     "deadline"));
  }
  if (code >= kFirstUnknown) {
    return absl::FailedPreconditionError(
        absl::StrCat("version ", version, " is not known here; 2.14 to 2.x are"));
  }
  return version;
}

absl::StatusOr<LoadedNccl> LoadNccl(const std::vector<std::string>& candidates) {
  std::vector<std::string> tried;
  auto own = std::make_unique<NcclLibrary>(DynamicLibrary::OfProcess());
  // Whoever preloads one means that one.
  const bool preloaded = own->has_version();
  if (preloaded) {
    absl::StatusOr<LoadedNccl> usable = Use(std::move(own));
    if (usable.ok()) return usable;
    tried.emplace_back(usable.status().message());
  }
  for (size_t i = 0; i < candidates.size() && !preloaded; ++i) {
    absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Open(candidates[i]);
    absl::Status status = library.status();
    if (library.ok()) {
      absl::StatusOr<LoadedNccl> usable = Use(std::make_unique<NcclLibrary>(*std::move(library)));
      if (usable.ok()) return usable;
      status = usable.status();
    }
    tried.emplace_back(status.message());
  }
  return absl::FailedPreconditionError(absl::StrCat("no NCCL: ", absl::StrJoin(tried, "; ")));
}

}  // namespace autobatch
