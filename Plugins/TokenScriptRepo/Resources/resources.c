#include "TokenScriptRepoResources.h"

BEGIN_RESOURCE(tokenscript_schema_postgresql_sql)
#embed "Schema/schema.postgresql.sql"
END_RESOURCE(tokenscript_schema_postgresql_sql)

BEGIN_RESOURCE(tokenscript_schema_sqlite_sql)
#embed "Schema/schema.sqlite.sql"
END_RESOURCE(tokenscript_schema_sqlite_sql)

BEGIN_RESOURCE(tokenscript_new_tsml)
#embed "new.tsml"
END_RESOURCE(tokenscript_new_tsml)

BEGIN_RESOURCE(tokenscript_new_2020_06_tsml)
#embed "new-2020-06.tsml"
END_RESOURCE(tokenscript_new_2020_06_tsml)

BEGIN_RESOURCE(tokenscript_schemas_sha256)
#embed "schemas.sha256"
END_RESOURCE(tokenscript_schemas_sha256)

BEGIN_RESOURCE(tokenscript_DAI_2020_03_tsml)
#embed "Demo/DAI-2020-03.tsml"
END_RESOURCE(tokenscript_DAI_2020_03_tsml)

BEGIN_RESOURCE(tokenscript_DAI_tsml)
#embed "Demo/DAI.tsml"
END_RESOURCE(tokenscript_DAI_tsml)

BEGIN_RESOURCE(tokenscript_ENS_tsml)
#embed "Demo/ENS.tsml"
END_RESOURCE(tokenscript_ENS_tsml)

BEGIN_RESOURCE(tokenscript_USDC_tsml)
#embed "Demo/USDC.tsml"
END_RESOURCE(tokenscript_USDC_tsml)

BEGIN_RESOURCE(tokenscript_WETH_tsml)
#embed "Demo/WETH.tsml"
END_RESOURCE(tokenscript_WETH_tsml)

BEGIN_RESOURCE(tokenscript_contract_css)
#embed "Page/contract.css"
END_RESOURCE(tokenscript_contract_css)

BEGIN_RESOURCE(tokenscript_index_css)
#embed "Page/index.css"
END_RESOURCE(tokenscript_index_css)

BEGIN_RESOURCE(tokenscript_contract_html)
#embed "Page/contract.html"
END_RESOURCE(tokenscript_contract_html)

BEGIN_RESOURCE(tokenscript_index_html)
#embed "Page/index.html"
END_RESOURCE(tokenscript_index_html)

BEGIN_RESOURCE(tokenscript_preview_html)
#embed "Page/preview.html"
END_RESOURCE(tokenscript_preview_html)

BEGIN_RESOURCE(tokenscript_choices_html)
#embed "Page/choices.html"
END_RESOURCE(tokenscript_choices_html)
