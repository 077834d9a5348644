#pragma once
// Families of models, by the model_type of their config.json: rows of families/*.json, each "like another
// one, but". Read by config_reader.cpp and hugging_face.cpp.
#include <map>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

struct Family {
  std::string name;                   // model_type
  std::string reader;                 // the function of config_reader.h that reads it
  std::string class_name;             // of the Transformers library, of which `defaults` are
  Json but = Json::object();          // what its code says and a file of it need not: keys and values
  Json defaults = Json::object();     // of its class, where a part of a larger file leaves keys out
  Json names = Json::object();        // other names of a key: {"intermediate_size": ["n_inner"]}
  std::vector<std::string> within;    // objects of its file that hold keys of the model
  std::vector<std::string> harmless;  // keys of its file that change nothing here
  std::string note;                   // what is not simulated of it
  std::string refused;                // why it is not read at all
};

std::vector<std::string> family_names();                  // those that are read
const Family* family_named(std::string_view model_type);  // null if there is none

// Of keys of any family.
std::vector<std::string> names_of_key(const Family& family, const std::string& key);
// Names of it that a file may give other values.
bool may_differ(const std::string& key);
bool is_harmless(const Family& family, const std::string& key);
// A key that speaks of layers: a family that has it and does not read it is not the model that Weir knows.
bool tells_of_layers(const std::string& key);

}  // namespace weir
