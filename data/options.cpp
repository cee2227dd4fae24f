// Compiles the copying and destruction of an input's options here, once.
#include "data/options.h"

namespace tpuest {

template class OneOf<data::PlainSourceTypes>;
template class OneOf<data::SourceOptionsTypes>;
template class OneOf<data::MapOptionsTypes>;

}  // namespace tpuest
