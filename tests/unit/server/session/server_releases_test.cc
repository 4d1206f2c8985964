// Tests which batches of a client that has left the server takes back, and
// when.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "proto/shm_ring.h"
#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/session/raw_client.h"
#include "tests/unit/server/session/server_fixture.h"

namespace forebay::session {
namespace {

// A client that has started an epoch, and its end of the loader's channel.
class ReadingClient {
 public:
  ReadingClient(const std::string& socket, const std::string& folder)
      : client_(socket) {
    const auto opened = client_.Open(folder);
    REQUIRE(client_.fds().size() >= 3);
    void* const ready = mmap(nullptr, proto::kRingBytes, PROT_READ, MAP_SHARED,
                             client_.fds()[0].get(), 0);
    void* const release =
        mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             client_.fds()[1].get(), 0);
    REQUIRE(ready != MAP_FAILED);
    REQUIRE(release != MAP_FAILED);
    ready_ = static_cast<const proto::ReadyRing*>(ready);
    release_ = static_cast<proto::ReleaseRing*>(release);
    event_ = base::Fd(dup(client_.fds()[2].get()));
    CHECK(client_.Start(opened.loader_id()).has_epoch_started());
    Until([&] { return ready_->tail.load() > 1; });
  }

  // Takes the first `count` batches.
  void Take(std::uint32_t count) { release_->taken_count.store(count); }
  // Says that the client takes no batches after the first `count`.
  void Leave(std::uint32_t count) { release_->left.store(count); }
  // Releases a batch that the client took, without telling the server.
  void Release(std::size_t batch) {
    const proto::ReadyEntry taken = ready_->entries[batch];
    release_->Push({.slot = taken.slot, .generation = taken.generation});
  }
  // Tells the server that there are releases.
  void Tell() {
    const std::uint64_t one = 1;
    CHECK(write(event_.get(), &one, sizeof(one)) == sizeof(one));
  }
  void HangUp() { client_.HangUp(); }

 private:
  RawClient client_;
  const proto::ReadyRing* ready_ = nullptr;
  proto::ReleaseRing* release_ = nullptr;
  base::Fd event_;
};

class ServerReleasesTest : public ServerTest {
 protected:
  // Waits until the server has taken back all batches that the client never
  // took. Meanwhile a request thread closes the loader.
  void AwaitNothingReady() {
    Until([&] {
      PassTime(0);
      return StreamState().ready() == 0;
    });
  }
};

// After a client has left, it takes no further batch, but may still read the
// batches that it took.
TEST_CASE_METHOD(
    ServerReleasesTest,
    "The server takes back the batches that a client that left never took",
    "[session][server_releases]") {
  const std::string folder = Folder("data");
  StartServer();
  {
    ReadingClient client(socket_, folder);
    client.Take(1);
    client.HangUp();
    AwaitIdleLoop();
    CHECK(StreamState().ready() > 0);
    CHECK(StreamState().held() == 1);

    client.Leave(1);
    AwaitNothingReady();
    CHECK(StreamState().held() == 1);
    CHECK(server_->sessions() == 1);

    client.Release(0);
    PassTime(0);
  }
  AwaitNothingLeft();
}

TEST_CASE_METHOD(ServerReleasesTest,
                 "The server sees each release of a client that left",
                 "[session][server_releases]") {
  const std::string folder = Folder("data");
  StartServer();
  {
    ReadingClient client(socket_, folder);
    client.Take(2);
    client.Leave(2);
    client.HangUp();
    AwaitNothingReady();
    CHECK(StreamState().held() == 2);
    client.Release(0);
    client.Tell();
    Until([&] { return StreamState().held() == 1; });
    CHECK(server_->sessions() == 1);
    client.Release(1);
    client.Tell();
  }
  AwaitNothingLeft();
}

}  // namespace
}  // namespace forebay::session
