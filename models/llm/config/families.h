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
  std::string class_name;             // the class of the Transformers library that `defaults` are from
  Json but = Json::object();          // what its code says and a file of it need not: keys and values
  Json defaults = Json::object();     // values of keys that a part of a larger file leaves out
  Json names = Json::object();        // other names of a key: {"intermediate_size": ["n_inner"]}
  std::vector<std::string> within;    // objects of its file that hold keys of the model
  std::vector<std::string> harmless;  // keys of its file that change nothing here
  std::string note;                   // what is not simulated of it
  std::string refused;                // why it is not read at all
};

std::vector<std::string> family_names();                  // those that are read
const Family* family_named(std::string_view model_type);  // null if there is none

// All names of a key: itself, then those of the family, then those that every family has.
std::vector<std::string> names_of_key(const Family& family, const std::string& key);
// A file may give a different value under each name of such a key.
bool may_differ(const std::string& key);
bool is_harmless(const Family& family, const std::string& key);
// A key that speaks of layers: a family that has it and does not read it is not the model that Weir knows.
bool tells_of_layers(const std::string& key);

}  // namespace weir
