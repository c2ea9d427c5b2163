#include "route/choose.h"
grove_status grove_survey_create(const grove_forest *f, int share, grove_survey **out){(void)f;(void)share;*out=NULL;return GROVE_OK;}
void grove_survey_free(grove_survey **s){*s=NULL;}
int64_t grove_route_cap(const grove_context *ctx, int64_t unit_bytes){return (ctx->options.message_cap>0?ctx->options.message_cap:8192)/unit_bytes>0?(ctx->options.message_cap>0?ctx->options.message_cap:8192)/unit_bytes:1;}
grove_status grove_route_choose(const grove_survey *s, const grove_question *q, grove_choice *out){(void)s;(void)q;*out=(grove_choice){.n=1,.candidates={{&grove_route_standard,0}}};return GROVE_OK;}
int grove_route_can_help(const grove_context *ctx){(void)ctx;return 0;}
void grove_choice_settle(grove_choice *c){(void)c;}
