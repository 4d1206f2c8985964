// Errors that keep a C++ program from opening a loader.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

TEST_CASE("A C++ program is told which dataset is not there", "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  const std::string file = pictures.path() + "/" + Pictures::FileOf(0);
  for (const std::string& path : {pictures.path() + "/nowhere", file}) {
    const Failure failure = OpeningOf(OptionsFor(daemon, path));
    CHECK(failure.status == FOREBAY_NOT_FOUND);
    CHECK_THAT(failure.text, Catch::Contains(path));
  }
  const std::string empty = NewFolder("empty");
  const Failure failure = OpeningOf(OptionsFor(daemon, empty));
  CHECK(failure.status == FOREBAY_NOT_FOUND);
  CHECK_THAT(failure.text, Catch::Contains(empty));
  std::filesystem::remove(empty);
}

TEST_CASE("A C++ program is told that no daemon listens", "[cpp][open]") {
  const Pictures pictures;
  const std::string folder = NewFolder("quiet");
  std::unique_ptr<Daemon> daemon = std::make_unique<Daemon>();
  forebay_loader_options options = OptionsFor(*daemon, pictures);
  options.reattach_seconds = 0;
  for (const std::string& path : {folder, folder + "/nowhere"}) {
    options.runtime_dir = path.c_str();
    const Failure failure = OpeningOf(options);
    CHECK(failure.status == FOREBAY_UNAVAILABLE);
    CHECK_THAT(failure.text, Catch::Contains(path + "/session.sock"));
    CHECK(forebay_ping(path.c_str()) == FOREBAY_UNAVAILABLE);
    CHECK_THAT(forebay_last_error(), Catch::Contains(path));
  }
  // This daemon is killed, and does not remove its socket.
  options.runtime_dir = daemon->runtime_dir().c_str();
  CHECK(forebay_ping(options.runtime_dir) == FOREBAY_OK);
  daemon->Kill();
  CHECK(OpeningOf(options).status == FOREBAY_UNAVAILABLE);
  CHECK(forebay_ping(options.runtime_dir) == FOREBAY_UNAVAILABLE);
  std::filesystem::remove(folder);
}

TEST_CASE("A C++ program trusts no daemon's directory that others may write to",
          "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  REQUIRE(chmod(daemon.runtime_dir().c_str(), 0777) == 0);
  const Failure failure = OpeningOf(OptionsFor(daemon, pictures));
  CHECK(failure.status == FOREBAY_PERMISSION_DENIED);
  CHECK_THAT(failure.text,
             Catch::Contains("chmod go-w " + daemon.runtime_dir()));
  CHECK(forebay_ping(daemon.runtime_dir().c_str()) ==
        FOREBAY_PERMISSION_DENIED);
  REQUIRE(chmod(daemon.runtime_dir().c_str(), 0700) == 0);
  CHECK(OpeningOf(OptionsFor(daemon, pictures)).status == FOREBAY_OK);
}

TEST_CASE("A C++ program gives a daemon up that stands still", "[cpp][open]") {
  Daemon daemon;
  const Pictures pictures;
  daemon.Pause();
  const Failure failure = OpeningOf(OptionsFor(daemon, pictures));
  daemon.Resume();
  CHECK(failure.status == FOREBAY_UNAVAILABLE);
  CHECK_THAT(failure.text, Catch::Contains("does not answer"));
}

// A daemon that greets one client in another version of the protocol.
class OtherDaemon {
 public:
  OtherDaemon() {
    const int folder = open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    // The path uses the folder's descriptor, because paths of sockets must be
    // short.
    const std::string name =
        "/proc/self/fd/" + std::to_string(folder) + "/session.sock";
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address),
                 sizeof address) == 0);
    REQUIRE(listen(socket_, 1) == 0);
    close(folder);
    thread_ = std::thread([this] { Greet(); });
  }
  ~OtherDaemon() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
    std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  void Greet() const {
    const int client = accept(socket_, nullptr, nullptr);
    if (client < 0) return;
    char request[4096];
    const ssize_t got = recv(client, request, sizeof request, 0);
    // The answer is a DaemonMessage: the request's id, and a Welcome of
    // protocol version 99 from Forebay "9.8".
    std::string answer(request, got >= 2 ? 2 : 0);
    answer += std::string(
        "\x1a\x07\x08\x63\x12\x03"
        "9.8",
        9);
    send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    // Waits until the client hangs up.
    while (recv(client, request, sizeof request, 0) > 0) continue;
    close(client);
  }

  const std::string path_ = NewFolder("other");
  int socket_ = -1;
  std::thread thread_;
};

TEST_CASE(
    "A C++ program is told to upgrade if its daemon is of another version",
    "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  const OtherDaemon other;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.runtime_dir = other.path().c_str();
  const Failure failure = OpeningOf(options);
  CHECK(failure.status == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(failure.text, Catch::Contains("version 9.8") &&
                               Catch::Contains("upgrade the older"));
}

using Options = forebay_loader_options;

// A change of the options that is refused, and a word of the refusal.
struct Wrong {
  std::function<void(Options&)> set;
  const char* word;
};

const std::string& Long(std::size_t bytes) {
  static const auto* const text = new std::string(5000, 'x');
  static std::string part;
  return part = text->substr(0, bytes);
}

TEST_CASE("A C++ program is told which option is wrong", "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  const Wrong all[] = {
      {[](Options& o) { o.job_key = nullptr; }, "job"},
      {[](Options& o) { o.job_key = ""; }, "job"},
      {[](Options& o) { o.job_key = Long(257).c_str(); }, "job"},
      {[](Options& o) { o.job_name = Long(257).c_str(); }, "job"},
      {[](Options& o) { o.name = Long(257).c_str(); }, "name"},
      {[](Options& o) { o.weight = 0; }, "weight"},
      {[](Options& o) { o.weight = 0.0009; }, "weight"},
      {[](Options& o) { o.weight = 1001; }, "weight"},
      {[](Options& o) { o.weight = -1; }, "weight"},
      {[](Options& o) { o.weight = std::nan(""); }, "weight"},
      {[](Options& o) { o.uri = nullptr; }, "dataset"},
      {[](Options& o) { o.extra_root_count = 1; }, "extra_roots"},
      {[](Options& o) { o.rank = 1; }, "rank"},
      {[](Options& o) { o.world_size = 0; }, "world_size"},
      {[](Options& o) { o.world_size = (1u << 20) + 1; }, "world_size"},
      {[](Options& o) { o.batch_size = 0; }, "batch_size"},
      {[](Options& o) { o.batch_size = 65537; }, "batch_size"},
      {[](Options& o) { o.depth = 17; }, "depth"},
      {[](Options& o) { o.reattach_seconds = std::nan(""); },
       "reattach_seconds"},
      {[](Options& o) { o.max_length = 5; }, "length"},
      {[](Options& o) { o.max_seconds = -1; }, "max_seconds"},
      {[](Options& o) { o.max_seconds = 65537; }, "max_seconds"},
      {[](Options& o) { o.field_count = 1; }, "field"},
      {[](Options& o) {
         o.format = FOREBAY_MANIFEST;
         static const char* const fields[] = {"image"};
         o.fields = fields;
         o.field_count = 1;
       },
       "column"},
      {[](Options& o) {
         o.order = FOREBAY_COORDINATED;
         o.on_error = FOREBAY_SUBSTITUTE;
       },
       "substitute"},
      {[](Options& o) {
         o.order = FOREBAY_COORDINATED;
         o.world_size = 2;
       },
       "world_size"},
      {[](Options& o) {
         o.root = o.uri;
         o.uri = Long(4097).c_str();
       },
       "URI"},
  };
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.word, &wrong - all);
    forebay_loader_options options = OptionsFor(daemon, pictures);
    wrong.set(options);
    const Failure failure = OpeningOf(options);
    CHECK(failure.status == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(failure.text, Catch::Contains(wrong.word));
  }
  CHECK(OpeningOf(OptionsFor(daemon, pictures)).status == FOREBAY_OK);
}

TEST_CASE("Options may have the values at the ends of their ranges",
          "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  const std::function<void(Options&)> all[] = {
      [](Options& o) { o.job_key = Long(256).c_str(); },
      [](Options& o) { o.job_name = Long(256).c_str(); },
      [](Options& o) { o.name = Long(256).c_str(); },
      [](Options& o) { o.weight = 0.001; },
      [](Options& o) { o.weight = 1000; },
      [](Options& o) { o.world_size = 1u << 20, o.rank = (1u << 20) - 1; },
      [](Options& o) { o.depth = 16; },
      [](Options& o) { o.depth = 1; },
      [](Options& o) { o.seed = std::numeric_limits<std::uint64_t>::max(); },
      [](Options& o) { o.root = o.uri, o.uri = Long(4096).c_str(); },
      [](Options& o) { o.reattach_seconds = -1; },
  };
  for (const auto& set : all) {
    CAPTURE(&set - all);
    forebay_loader_options options = OptionsFor(daemon, pictures);
    set(options);
    const Failure failure = OpeningOf(options, RandomCrops());
    CHECK(failure.text.empty());
    CHECK(failure.status == FOREBAY_OK);
  }
}

TEST_CASE("Unknown numbers of enums in options are refused", "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  for (const int number : {-1, 0, 8, 77, 1 << 30}) {
    const std::function<void(Options&)> all[] = {
        [&](Options& o) { o.format = static_cast<forebay_format>(number); },
        [&](Options& o) { o.order = static_cast<forebay_order>(number); },
        [&](Options& o) { o.uneven = static_cast<forebay_uneven>(number); },
        [&](Options& o) { o.sharing = static_cast<forebay_sharing>(number); },
        [&](Options& o) { o.on_error = static_cast<forebay_on_error>(number); },
    };
    for (const auto& set : all) {
      CAPTURE(number, &set - all);
      forebay_loader_options options = OptionsFor(daemon, pictures);
      set(options);
      const Failure failure = OpeningOf(options);
      CHECK(failure.status == FOREBAY_INVALID_ARGUMENT);
      CHECK_FALSE(failure.text.empty());
    }
  }
}

TEST_CASE("A loader without transforms says what pictures of any size need",
          "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay_loader* loader = nullptr;
  REQUIRE(forebay_loader_create(&options, nullptr, &loader) == FOREBAY_OK);
  CHECK(forebay_loader_open(loader, -1) == FOREBAY_INVALID_ARGUMENT);
  const std::string said = forebay_last_error();
  CHECK_THAT(said, Catch::Contains("Resize"));
  // After the refusal, no further call succeeds.
  CHECK(forebay_loader_start_epoch(loader, 0, 0) ==
        FOREBAY_FAILED_PRECONDITION);
  forebay_loader_free(loader);
}

TEST_CASE("The library keeps nothing of the options and the pipeline",
          "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  auto texts = std::make_unique<std::vector<std::string>>(
      std::vector<std::string>{daemon.runtime_dir(), "a key", "a name",
                               "a loader", pictures.path()});
  auto options =
      std::make_unique<forebay_loader_options>(OptionsFor(daemon, pictures));
  options->runtime_dir = texts->at(0).c_str();
  options->job_key = texts->at(1).c_str();
  options->job_name = texts->at(2).c_str();
  options->name = texts->at(3).c_str();
  options->uri = texts->at(4).c_str();
  forebay_loader* loader = nullptr;
  {
    const forebay::Pipeline pipeline = WholePictures();
    REQUIRE(forebay_loader_create(options.get(), pipeline.get(), &loader) ==
            FOREBAY_OK);
    // A later change of the pipeline does not affect the loader.
    forebay::Check(
        forebay_pipeline_add_resize(pipeline.get(), 2, 2, 0, FOREBAY_NEAREST));
  }
  for (std::string& text : *texts) text.assign(text.size(), '?');
  texts.reset();
  std::memset(options.get(), 0xff, sizeof *options);
  options.reset();
  REQUIRE(forebay_loader_open(loader, -1) == FOREBAY_OK);
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  forebay_batch* batch = nullptr;
  REQUIRE(forebay_loader_next(loader, -1, &batch) == FOREBAY_OK);
  CHECK(forebay::Batch(batch).field("image").bytes == 4 * kPictureBytes);
  forebay_loader_free(loader);
}

TEST_CASE("A loader may be opened bit by bit", "[cpp][open]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay_loader* loader = nullptr;
  REQUIRE(forebay_loader_create(&options, WholePictures().get(), &loader) ==
          FOREBAY_OK);
  forebay_status status;
  while ((status = forebay_loader_open(loader, 0)) == FOREBAY_TIMEOUT)
    CHECK_THAT(forebay_last_error(), !Catch::Equals(""));
  CHECK(status == FOREBAY_OK);
  forebay_loader_free(loader);
}

}  // namespace
}  // namespace cpp_user
