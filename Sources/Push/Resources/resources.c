#include "PushResources.h"

BEGIN_RESOURCE(push_step1_postgresql_sql)
#embed "Schema/step1.postgresql.sql"
END_RESOURCE(push_step1_postgresql_sql)

BEGIN_RESOURCE(push_step1_sqlite_sql)
#embed "Schema/step1.sqlite.sql"
END_RESOURCE(push_step1_sqlite_sql)

BEGIN_RESOURCE(push_step2_postgresql_sql)
#embed "Schema/step2.postgresql.sql"
END_RESOURCE(push_step2_postgresql_sql)

BEGIN_RESOURCE(push_step2_sqlite_sql)
#embed "Schema/step2.sqlite.sql"
END_RESOURCE(push_step2_sqlite_sql)
