#ifndef FOREBAY_SERVER_STORAGE_S3_XML_H_
#define FOREBAY_SERVER_STORAGE_S3_XML_H_

#include <pugixml.hpp>
#include <string_view>

namespace forebay::storage::s3 {

// Parses a server's answer into `document`: elements and text, with XML's own
// five entities and no others, and no document types. Returns whether the
// answer is one document with at most as many elements as a page of 1,000
// objects has. Thread-safe; never blocks.
bool ParseXml(std::string_view text, pugi::xml_document* document);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_XML_H_
