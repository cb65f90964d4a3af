#include "MsgrResources.h"

BEGIN_RESOURCE(msgr_openapi_json)
#embed "openapi.json"
END_RESOURCE(msgr_openapi_json)

BEGIN_RESOURCE(msgr_emoji_short_codes_txt)
#embed "Emoji/short-codes.txt"
END_RESOURCE(msgr_emoji_short_codes_txt)

BEGIN_RESOURCE(msgr_schema_postgresql_sql)
#embed "Schema/schema.postgresql.sql"
END_RESOURCE(msgr_schema_postgresql_sql)

BEGIN_RESOURCE(msgr_schema_sqlite_sql)
#embed "Schema/schema.sqlite.sql"
END_RESOURCE(msgr_schema_sqlite_sql)

BEGIN_RESOURCE(msgr_api_js)
#embed "../Web/api.js"
END_RESOURCE(msgr_api_js)

BEGIN_RESOURCE(msgr_app_js)
#embed "../Web/app.js"
END_RESOURCE(msgr_app_js)

BEGIN_RESOURCE(msgr_archive_js)
#embed "../Web/archive.js"
END_RESOURCE(msgr_archive_js)

BEGIN_RESOURCE(msgr_msgr_js)
#embed "../Web/msgr.js"
END_RESOURCE(msgr_msgr_js)

BEGIN_RESOURCE(msgr_page_js)
#embed "../Web/page.js"
END_RESOURCE(msgr_page_js)

BEGIN_RESOURCE(msgr_settings_js)
#embed "../Web/settings.js"
END_RESOURCE(msgr_settings_js)

BEGIN_RESOURCE(msgr_worker_js)
#embed "../Web/worker.js"
END_RESOURCE(msgr_worker_js)

BEGIN_RESOURCE(msgr_icon_svg)
#embed "../Web/icon.svg"
END_RESOURCE(msgr_icon_svg)

BEGIN_RESOURCE(msgr_api_html)
#embed "../Web/api.html"
END_RESOURCE(msgr_api_html)

BEGIN_RESOURCE(msgr_index_html)
#embed "../Web/index.html"
END_RESOURCE(msgr_index_html)

BEGIN_RESOURCE(msgr_manifest_webmanifest)
#embed "../Web/manifest.webmanifest"
END_RESOURCE(msgr_manifest_webmanifest)

BEGIN_RESOURCE(msgr_icon_180_png)
#embed "../Web/icon-180.png"
END_RESOURCE(msgr_icon_180_png)

BEGIN_RESOURCE(msgr_icon_192_png)
#embed "../Web/icon-192.png"
END_RESOURCE(msgr_icon_192_png)

BEGIN_RESOURCE(msgr_icon_512_png)
#embed "../Web/icon-512.png"
END_RESOURCE(msgr_icon_512_png)

BEGIN_RESOURCE(msgr_icon_maskable_png)
#embed "../Web/icon-maskable.png"
END_RESOURCE(msgr_icon_maskable_png)

BEGIN_RESOURCE(msgr_rich_js)
#embed "../Web/rich.js"
END_RESOURCE(msgr_rich_js)

BEGIN_RESOURCE(msgr_topics_js)
#embed "../Web/topics.js"
END_RESOURCE(msgr_topics_js)
