/* The part "model_analysis" of a JSON report. */
#ifndef SB_EXCHANGE_PROFILE_MODEL_H
#define SB_EXCHANGE_PROFILE_MODEL_H

#include "base/jsondom.h"
#include "exchange/textlog.h"

/* Takes parameters, variants and operators. analysis: NULL where the report has none. */
int sb_profile_take_model(struct sb_textlog *log, const struct sb_jsondom *analysis);

#endif
