#include <CResources.h>

RESOURCE(push_step1_postgresql_sql);
RESOURCE(push_step1_sqlite_sql);
RESOURCE(push_step2_postgresql_sql);
RESOURCE(push_step2_sqlite_sql);
