#include "tests/unit/server/storage/http/faults.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace forebay::storage::http {
namespace {

// Sends the answer's headers, and half of its body.
void SendHalf(const Reply& reply, HttpServer::Peer& peer) {
  peer.Send(absl::StrCat("HTTP/1.1 ", reply.status, " Answer\r\n",
                         "Content-Length: ", reply.body.size(), "\r\n",
                         reply.headers, "\r\n",
                         reply.body.substr(0, reply.body.size() / 2)));
}

}  // namespace

void SendWith(Fault fault, const Reply& reply, HttpServer::Peer& peer) {
  std::string body = reply.body;
  switch (fault) {
    case Fault::k503:
      return peer.Answer(503, "", "over\nloaded");
    case Fault::k429:
      return peer.Answer(429, "Retry-After: 7\r\n", "slower");
    case Fault::k408:
      return peer.Answer(408, "", "");
    case Fault::kResetAtOnce:
      return peer.Reset();
    case Fault::kResetInBody:
      SendHalf(reply, peer);
      return peer.Reset();
    case Fault::kTruncate:
      SendHalf(reply, peer);
      return peer.Close();
    case Fault::kStall:
      SendHalf(reply, peer);
      return peer.AwaitHangUp();
    case Fault::kBitFlip:
      if (!body.empty()) body[body.size() / 2] ^= 1;
      return peer.Answer(reply.status, reply.headers, body);
    case Fault::kWrongRange:
      return peer.Answer(
          reply.status,
          absl::StrReplaceAll(reply.headers, {{"bytes ", "bytes 1"}}), body);
    case Fault::kNoRange:
      // A server without ranges sends the whole object, which is longer than
      // any range.
      return peer.Answer(
          200, absl::StrReplaceAll(reply.headers, {{"Content-Range", "X-Was"}}),
          body + body + "!");
    case Fault::kCompressed:
      return peer.Answer(
          reply.status,
          absl::StrCat(
              "Content-Encoding: gzip\r\n",
              absl::StrReplaceAll(reply.headers,
                                  {{"ETag: \"", "ETag: \"gz"}, {"/", "/9"}})),
          body);
    case Fault::kNone:
      return peer.Answer(reply.status, reply.headers, body);
  }
}

}  // namespace forebay::storage::http
