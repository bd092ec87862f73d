// `skein-sim schema` with valijson: reads lines such as {"schema":{"type":"integer"},"values":[1,"a"]} and says for
// each which of the values it takes. For docs/adr/0003-json-schema.md. Not part of the build; needs libvalijson-dev:
//
//   g++ -O2 -std=c++17 bench/adr/valijson_judge.cpp -o build/valijson_judge
#define VALIJSON_USE_EXCEPTIONS 1  // without it a schema that it refuses ends the program
#include <boost/json.hpp>
#include <boost/json/src.hpp>
#include <iostream>
#include <string>
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace {

using Adapter = valijson::adapters::BoostJsonAdapter;

std::string verdicts(const boost::json::value& asked) {
  valijson::Schema schema;
  try {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(Adapter(asked.at("schema")), schema);
  } catch (const std::exception&) {
    return "refused";
  }
  std::string all;
  valijson::Validator validator;
  for (const boost::json::value& each : asked.at("values").as_array()) {
    try {
      all += validator.validate(schema, Adapter(each), nullptr) ? '1' : '0';
    } catch (const std::exception&) {
      all += 'x';
    }
  }
  return all;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << verdicts(boost::json::parse(line)) << std::endl;
  return 0;
}
