#include "tools/forebayctl/pending.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"

namespace forebay::ctl {
namespace {

// A request that does not open a dataset is worth showing after this many
// seconds. Such a request ends within milliseconds unless something hangs.
constexpr double kLongSeconds = 2;

// The words for one kind of request: alone, and before a dataset's name.
struct Words {
  const char* state;
  const char* before_uri;
};

Words WordsOf(const proto::PendingRequest& request) {
  switch (request.kind()) {
    case proto::PendingRequest::FETCHING:
      return {"fetching", "fetching samples of"};
    case proto::PendingRequest::READING:
      return {"reading", "reading"};
    case proto::PendingRequest::STARTING:
      return {"starting", "starting an epoch of"};
    default:
      return {"opening", "opening"};
  }
}

// Returns a duration as text, without tenths of a second.
std::string Time(double seconds) {
  return seconds < 60 ? absl::StrFormat("%.0f s", seconds) : Duration(seconds);
}

}  // namespace

bool IsWorthShowing(const proto::PendingRequest& request) {
  return request.kind() == proto::PendingRequest::OPENING ||
         request.seconds() >= kLongSeconds;
}

std::string PendingState(const PendingRequests& requests) {
  const proto::PendingRequest* oldest = nullptr;
  for (const proto::PendingRequest& request : requests) {
    if (IsWorthShowing(request) &&
        (oldest == nullptr || request.seconds() > oldest->seconds()))
      oldest = &request;
  }
  return oldest == nullptr ? "" : WordsOf(*oldest).state;
}

std::string DescribePending(const proto::PendingRequest& request) {
  const Words words = WordsOf(request);
  const std::string time = Time(request.seconds());
  if (!request.host().empty())
    return absl::StrCat(words.state, ", waits for ", request.host(), " for ",
                        time);
  return request.uri().empty() ? absl::StrCat(words.state, " for ", time)
                               : absl::StrCat(words.before_uri, " ",
                                              request.uri(), " for ", time);
}

std::string PendingLines(const PendingRequests& requests) {
  std::string lines;
  for (const proto::PendingRequest& request : requests) {
    if (!IsWorthShowing(request)) continue;
    absl::StrAppend(&lines, lines.empty() ? "\n" : "", Printable(request.job()),
                    ": ", Printable(DescribePending(request)), "\n");
  }
  return lines;
}

}  // namespace forebay::ctl
