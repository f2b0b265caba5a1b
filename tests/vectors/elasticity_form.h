#ifndef AUTOBATCH_TESTS_VECTORS_ELASTICITY_FORM_H_
#define AUTOBATCH_TESTS_VECTORS_ELASTICITY_FORM_H_

#include "tests/vectors/form.h"

namespace autobatch {

// deepspeed_elasticity.jsonl: the batch, GPU counts and micro-batch of an elasticity block, or an
// error. Where the original answered with nothing, 0 or more than its maximum, an error is asked
// for.
Form ElasticityForm();

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_ELASTICITY_FORM_H_
