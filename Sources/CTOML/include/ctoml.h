#pragma once
#ifdef __cplusplus
extern "C" {
#endif
int ctoml_placeholder(void);
#ifdef __cplusplus
}
#endif
