#ifndef FOREBAY_SERVER_STORAGE_S3_XML_H_
#define FOREBAY_SERVER_STORAGE_S3_XML_H_

#include <pugixml.hpp>
#include <string_view>

namespace forebay::storage::s3 {

// Parses an answer of a server's into `document`: elements and text, with XML's
// own five entities and no others, no document types. Returns whether it is one
// document, of no more elements than a page of 1,000 objects may have.
bool ParseXml(std::string_view text, pugi::xml_document* document);

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_XML_H_
