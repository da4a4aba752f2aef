#include "core/wire/schema.h"

namespace ruleengine::schema {

constinit const Message kEntry = {"StringStringEntryProto",
                                  {{1, kLength, "key"}, {2, kLength, "value"}}};

constinit const Message kOpset = {
    "OperatorSetIdProto", {{1, kLength, "domain"}, {2, kVarint, "version"}}};

constinit const Message kSegment = {
    "TensorProto.Segment", {{1, kVarint, "begin"}, {2, kVarint, "end"}}};

constinit const Message kTypeOpaque = {
    "TypeProto.Opaque", {{1, kLength, "domain"}, {2, kLength, "name"}}};

constinit const Message kDevice = {"DeviceConfigurationProto",
                                   {{1, kLength, "name"},
                                    {2, kVarint, "num_devices"},
                                    {3, kLength, "device"}}};

constinit const Message kNodeDevice = {
    "NodeDeviceConfigurationProto",
    {{1, kLength, "configuration_id"},
     {2, kLength, "sharding_spec", &kSharding},
     {3, kVarint, "pipeline_stage"}}};

constinit const Message kSharding = {
    "ShardingSpecProto",
    {{1, kLength, "tensor_name"},
     {2, kVarints, "device"},
     {3, kLength, "index_to_device_group_map", &kIntList},
     {4, kLength, "sharded_dim", &kShardedDim}}};

constinit const Message kIntList = {
    "IntIntListEntryProto", {{1, kVarint, "key"}, {2, kVarints, "value"}}};

constinit const Message kShardedDim = {
    "ShardedDimProto",
    {{1, kVarint, "axis"}, {2, kLength, "simple_sharding", &kSimpleSharding}}};

constinit const Message kSimpleSharding = {"SimpleShardedDimProto",
                                           {{1, kVarint, "dim_value"},
                                            {2, kLength, "dim_param"},
                                            {3, kVarint, "num_shards"}}};

constinit const Message kAnnotation = {
    "TensorAnnotation",
    {{1, kLength, "tensor_name"},
     {2, kLength, "quant_parameter_tensor_names", &kEntry}}};

constinit const Message kDimension = {"Dimension",
                                      {{1, kVarint, "dim_value"},
                                       {2, kLength, "dim_param"},
                                       {3, kLength, "denotation"}}};

constinit const Message kShape = {"TensorShapeProto",
                                  {{1, kLength, "dim", &kDimension}}};

constinit const Message kTypeTensor = {
    "TypeProto.Tensor",
    {{1, kVarint, "elem_type"}, {2, kLength, "shape", &kShape}}};

constinit const Message kTypeElement = {"TypeProto.Sequence",
                                        {{1, kLength, "elem_type", &kType}}};

constinit const Message kTypeMap = {
    "TypeProto.Map",
    {{1, kVarint, "key_type"}, {2, kLength, "value_type", &kType}}};

constinit const Message kType = {
    "TypeProto",
    {{1, kLength, "tensor_type", &kTypeTensor},
     {4, kLength, "sequence_type", &kTypeElement},
     {5, kLength, "map_type", &kTypeMap},
     {6, kLength, "denotation"},
     {7, kLength, "opaque_type", &kTypeOpaque},
     {8, kLength, "sparse_tensor_type", &kTypeTensor},
     {9, kLength, "optional_type", &kTypeElement}}};

constinit const Message kValueInfo = {
    "ValueInfoProto",
    {{1, kLength, "name"},
     {2, kLength, "type", &kType},
     {3, kLength, "doc_string"},
     {4, kLength, "metadata_props", &kEntry}}};

constinit const Message kTensor = {"TensorProto",
                                   {{1, kVarints, "dims"},
                                    {2, kVarint, "data_type"},
                                    {3, kLength, "segment", &kSegment},
                                    {4, kFloats, "float_data"},
                                    {5, kVarints, "int32_data"},
                                    {6, kLength, "string_data"},
                                    {7, kVarints, "int64_data"},
                                    {8, kLength, "name"},
                                    {9, kLength, "raw_data"},
                                    {10, kDoubles, "double_data"},
                                    {11, kVarints, "uint64_data"},
                                    {12, kLength, "doc_string"},
                                    {13, kLength, "external_data", &kEntry},
                                    {14, kVarint, "data_location"},
                                    {16, kLength, "metadata_props", &kEntry}}};

constinit const Message kSparseTensor = {"SparseTensorProto",
                                         {{1, kLength, "values", &kTensor},
                                          {2, kLength, "indices", &kTensor},
                                          {3, kVarints, "dims"}}};

constinit const Message kAttribute = {
    "AttributeProto",
    {{1, kLength, "name"},
     {2, kFloat, "f"},
     {3, kVarint, "i"},
     {4, kLength, "s"},
     {5, kLength, "t", &kTensor},
     {6, kLength, "g", &kGraph},
     {7, kFloats, "floats"},
     {8, kVarints, "ints"},
     {9, kLength, "strings"},
     {10, kLength, "tensors", &kTensor},
     {11, kLength, "graphs", &kGraph},
     {13, kLength, "doc_string"},
     {14, kLength, "tp", &kType},
     {15, kLength, "type_protos", &kType},
     {20, kVarint, "type"},
     {21, kLength, "ref_attr_name"},
     {22, kLength, "sparse_tensor", &kSparseTensor},
     {23, kLength, "sparse_tensors", &kSparseTensor}}};

constinit const Message kNode = {
    "NodeProto",
    {{1, kLength, "input"},
     {2, kLength, "output"},
     {3, kLength, "name"},
     {4, kLength, "op_type"},
     {5, kLength, "attribute", &kAttribute},
     {6, kLength, "doc_string"},
     {7, kLength, "domain"},
     {8, kLength, "overload"},
     {9, kLength, "metadata_props", &kEntry},
     {10, kLength, "device_configurations", &kNodeDevice}}};

constinit const Message kGraph = {
    "GraphProto",
    {{1, kLength, "node", &kNode},
     {2, kLength, "name"},
     {5, kLength, "initializer", &kTensor},
     {10, kLength, "doc_string"},
     {11, kLength, "input", &kValueInfo},
     {12, kLength, "output", &kValueInfo},
     {13, kLength, "value_info", &kValueInfo},
     {14, kLength, "quantization_annotation", &kAnnotation},
     {15, kLength, "sparse_initializer", &kSparseTensor},
     {16, kLength, "metadata_props", &kEntry}}};

constinit const Message kTrainingInfo = {
    "TrainingInfoProto",
    {{1, kLength, "initialization", &kGraph},
     {2, kLength, "algorithm", &kGraph},
     {3, kLength, "initialization_binding", &kEntry},
     {4, kLength, "update_binding", &kEntry}}};

constinit const Message kFunction = {
    "FunctionProto",
    {{1, kLength, "name"},
     {4, kLength, "input"},
     {5, kLength, "output"},
     {6, kLength, "attribute"},
     {7, kLength, "node", &kNode},
     {8, kLength, "doc_string"},
     {9, kLength, "opset_import", &kOpset},
     {10, kLength, "domain"},
     {11, kLength, "attribute_proto", &kAttribute},
     {12, kLength, "value_info", &kValueInfo},
     {13, kLength, "overload"},
     {14, kLength, "metadata_props", &kEntry}}};

constinit const Message kModel = {
    "ModelProto",
    {{1, kVarint, "ir_version"},
     {2, kLength, "producer_name"},
     {3, kLength, "producer_version"},
     {4, kLength, "domain"},
     {5, kVarint, "model_version"},
     {6, kLength, "doc_string"},
     {7, kLength, "graph", &kGraph},
     {8, kLength, "opset_import", &kOpset},
     {14, kLength, "metadata_props", &kEntry},
     {20, kLength, "training_info", &kTrainingInfo},
     {25, kLength, "functions", &kFunction},
     {26, kLength, "configuration", &kDevice}}};

}  // namespace ruleengine::schema
