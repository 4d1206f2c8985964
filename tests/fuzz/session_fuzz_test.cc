// Fuzzes a client of the daemon. A real session answers each of the client's
// requests within the protocol's bounds. When the client is gone, the daemon
// has released everything that belonged to it.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/session.pb.h"
#include "proto/shm_ring.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/dataset/catalog.h"
#include "server/executor/thread_pool_executor.h"
#include "server/job/registry.h"
#include "server/pipeline/workspace.h"
#include "server/schedule/job_shares.h"
#include "server/session/session.h"
#include "server/session/socket.h"
#include "server/storage/local/local_source.h"
#include "server/storage/root_opener.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/small_datasets.h"
#include "tests/fuzz/text_message.h"

namespace {

namespace job = forebay::job;
namespace proto = forebay::proto;
namespace session = forebay::session;
using forebay::base::Fd;
using forebay::fuzz::Require;

constexpr std::uint64_t kBudget = std::uint64_t{64} << 20;
constexpr std::size_t kMostRequests = 30;
constexpr std::size_t kMaxDescriptors = 16;
// The most bytes of memory that the client sends.
constexpr std::size_t kMaxBytes = 1 << 16;
// The number of times that the client yields to other threads before its next
// request.
constexpr int kYields = 50;

class Nowhere final : public forebay::storage::RootOpener {
 public:
  absl::StatusOr<std::shared_ptr<const forebay::storage::Root>> Open(
      const std::string& uri, const std::stop_token&) override {
    return absl::NotFoundError(uri + ": is nowhere");
  }
};

// The parts of the daemon that a session needs. They are never destroyed.
struct Daemon {
  Daemon() {
    for (int i = 0; i < executor.places(); ++i) {
      workspaces.push_back(std::make_unique<forebay::pipeline::Workspace>(
          forebay::pipeline::WorkspaceLimits{.max_pixels = 1 << 20,
                                             .scratch_bytes = 1 << 24}));
    }
  }

  const std::string folder = forebay::fuzz::MakeSmallDatasets();
  forebay::base::MemoryBudget budget{kBudget};
  std::vector<std::unique_ptr<forebay::pipeline::Workspace>> workspaces;
  forebay::dataset::Catalog catalog{
      {.index_directory = "",
       .scan_threads = 1,
       .wall_clock = [] { return forebay::base::Clock::Wall()->NowNanos(); },
       .budget = &budget}};
  forebay::executor::ThreadPoolExecutor executor{1};
  forebay::storage::local::LocalSource source{{.threads = 1}};
  forebay::schedule::JobShares unshared;
  job::Registry registry{
      &catalog,
      forebay::stream::StreamDeps{
          .source = &source,
          .executor = &executor,
          .workspaces = &workspaces,
          .budget = &budget,
          .clock = forebay::base::Clock::Monotonic(),
          .aside = {},
          .on_changed = [](const forebay::dataset::Dataset&) {}},
      job::Registry::Shares{.reads = &unshared, .cpus = &executor}};
  Nowhere nowhere;
};

std::vector<std::uint64_t> Numbers(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ptr != at) numbers.push_back(number);
    at = parsed.ptr + 1;
  }
  return numbers;
}

Fd Memory(std::string_view bytes, bool sealed) {
  Fd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  Require(write(fd.get(), bytes.data(), bytes.size()) ==
          static_cast<ssize_t>(bytes.size()));
  const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  Require(!sealed || fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

// A loader's rings as its client has mapped them.
class Rings {
 public:
  explicit Rings(const job::Loader& loader)
      : ready_(static_cast<const proto::ReadyRing*>(
            Map(loader.channel().ready_fd(), PROT_READ))),
        release_(static_cast<proto::ReleaseRing*>(
            Map(loader.channel().release_fd(), PROT_READ | PROT_WRITE))) {}
  ~Rings() {
    munmap(const_cast<proto::ReadyRing*>(ready_), proto::kRingBytes);
    munmap(release_, proto::kRingBytes);
  }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  // Takes the published entries, and releases their batches.
  void Take() {
    while (ready_->tail.load() != head_) {
      const proto::ReadyEntry& entry =
          ready_->entries[head_++ % proto::kReadyCapacity];
      if (entry.kind == proto::ReadyKind::kBatch)
        release_->Push({entry.slot, entry.generation});
    }
    release_->taken_count.store(head_);
  }
  // Writes `value` into one of the release ring's 8-byte words.
  void Write(std::uint64_t word, std::uint64_t value) {
    const std::uint64_t words = proto::kRingBytes / sizeof(value);
    std::memcpy(reinterpret_cast<char*>(release_) + word % words * 8, &value,
                sizeof(value));
  }

 private:
  static void* Map(int fd, int protection) {
    void* const memory =
        mmap(nullptr, proto::kRingBytes, protection, MAP_SHARED, fd, 0);
    Require(memory != MAP_FAILED);
    return memory;
  }

  const proto::ReadyRing* const ready_;
  proto::ReleaseRing* const release_;
  std::uint32_t head_ = 0;
};

class Client {
 public:
  explicit Client(Daemon* daemon)
      : daemon_(daemon),
        session_(1,
                 {.uid = getuid(), .pid = static_cast<std::uint32_t>(getpid())},
                 &daemon->registry, &daemon->nowhere) {}
  ~Client() {
    rings_.clear();
    session_.CloseAll();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends the greeting. Returns false if the daemon has closed the connection.
  bool Greet() {
    return Say("pidfd",
               "request_id: 1 hello { protocol_version: 1 "
               "job { key: \"k\" } }");
  }

  // Obeys a line of words, with a request after it. "take" takes the published
  // batches, and "ring" writes the line's numbers into release rings. "raw"
  // sends the bytes unchanged. All other words name descriptors.
  bool Do(std::string_view part) {
    const std::size_t end = std::min(part.find('\n'), part.size());
    const std::string_view line = part.substr(0, end);
    const std::string_view rest = part.substr(std::min(end + 1, part.size()));
    if (line == "take" || line.starts_with("ring ")) return Write(line);
    if (line == "raw") return Send(std::string(rest), {});
    return Say(line, rest);
  }

 private:
  bool Say(std::string_view words, std::string_view text) {
    proto::ClientMessage message;
    if (!forebay::fuzz::ReadMessage(text, &message)) return true;
    std::vector<Fd> fds;
    while (!words.empty() && fds.size() < kMaxDescriptors) {
      const std::string_view word = words.substr(0, words.find(' '));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      fds.push_back(Descriptor(word, &message));
    }
    return Send(message.SerializeAsString(), std::move(fds));
  }

  Fd Descriptor(std::string_view word, proto::ClientMessage* message) const {
    if (word == "pidfd")
      return Fd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    if (word == "root")
      return Fd(open(daemon_->folder.c_str(), O_PATH | O_CLOEXEC));
    if (word == "spec") {
      if (!message->has_open_loader()) return Memory("", true);
      proto::OpenLoader& open = *message->mutable_open_loader();
      const std::string spec = open.spec().SerializeAsString();
      open.clear_spec();
      open.set_spec_in_memfd(true);
      return Memory(spec, true);
    }
    const std::size_t equals = word.find('=');
    if (equals == word.npos) return Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string_view kind = word.substr(0, equals);
    const auto numbers = Numbers(word.substr(equals + 1));
    if (kind == "bytes" && !numbers.empty())
      return Memory(std::string(numbers[0] % kMaxBytes, '\1'), true);
    return Memory({reinterpret_cast<const char*>(numbers.data()),
                   numbers.size() * sizeof(std::uint64_t)},
                  kind == "list");
  }

  bool Send(std::string bytes, std::vector<Fd> fds) {
    if (bytes.size() > session::kMaxMessage) return true;
    session::Datagram datagram = {.bytes = std::move(bytes),
                                  .fds = std::move(fds)};
    auto request = session::Request::Parse(datagram);
    if (!request.ok()) return false;
    Require(!session_.Announce(*request, 0).name.empty());
    const std::uint64_t id = request->message.request_id();
    const session::Reply reply = session_.Handle(*std::move(request));
    Require(reply.bytes.size() <= session::kMaxMessage &&
            reply.fds.size() <= session::kMaxDescriptors);
    proto::DaemonMessage answer;
    Require(answer.ParseFromString(reply.bytes));
    Require(reply.hang_up || answer.request_id() == id);
    for (int i = 0; i < kYields; ++i) sched_yield();
    return !reply.hang_up;
  }

  bool Write(std::string_view line) {
    const std::vector<std::uint64_t> numbers = Numbers(line);
    for (const auto& loader : session_.Loaders()) {
      auto& rings = rings_[loader.get()];
      if (rings == nullptr) rings = std::make_unique<Rings>(*loader);
      if (line == "take") rings->Take();
      for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
        rings->Write(numbers[i], numbers[i + 1]);
      if (!loader->TakeReleases().ok()) return false;
    }
    for (const auto& loader : session_.DropReleased())
      rings_.erase(loader.get());
    return true;
  }

  Daemon* const daemon_;
  session::Session session_;
  // The rings of the session's loaders.
  std::map<const job::Loader*, std::unique_ptr<Rings>> rings_;
};

}  // namespace

// The input is requests, with lines "--" between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static auto* const daemon = new Daemon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parts = forebay::fuzz::SplitParts(text);
  if (parts.size() > kMostRequests) parts.resize(kMostRequests);
  {
    Client client(daemon);
    bool connected = parts[0].find("hello") != text.npos || client.Greet();
    for (const std::string_view part : parts)
      connected = connected && client.Do(part);
  }
  // Requests that are in progress when the client leaves end by themselves.
  while (daemon->budget.used() > 0) sched_yield();
  Require(daemon->registry.Snapshot().empty());
  return 0;
}
