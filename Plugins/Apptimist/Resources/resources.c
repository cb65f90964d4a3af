#include "ApptimistResources.h"

BEGIN_RESOURCE(apptimist_schema_postgresql_sql)
#embed "Schema/schema.postgresql.sql"
END_RESOURCE(apptimist_schema_postgresql_sql)

BEGIN_RESOURCE(apptimist_schema_sqlite_sql)
#embed "Schema/schema.sqlite.sql"
END_RESOURCE(apptimist_schema_sqlite_sql)

BEGIN_RESOURCE(apptimist_chat_txt)
#embed "chat.txt"
END_RESOURCE(apptimist_chat_txt)

BEGIN_RESOURCE(apptimist_account_js)
#embed "../Web/account.js"
END_RESOURCE(apptimist_account_js)

BEGIN_RESOURCE(apptimist_app_js)
#embed "../Web/app.js"
END_RESOURCE(apptimist_app_js)

BEGIN_RESOURCE(apptimist_apptimist_js)
#embed "../../../Clients/JavaScript/apptimist.js"
END_RESOURCE(apptimist_apptimist_js)

BEGIN_RESOURCE(apptimist_chat_js)
#embed "../Web/chat.js"
END_RESOURCE(apptimist_chat_js)

BEGIN_RESOURCE(apptimist_contents_js)
#embed "../Web/contents.js"
END_RESOURCE(apptimist_contents_js)

BEGIN_RESOURCE(apptimist_details_js)
#embed "../Web/details.js"
END_RESOURCE(apptimist_details_js)

BEGIN_RESOURCE(apptimist_export_js)
#embed "../Web/export.js"
END_RESOURCE(apptimist_export_js)

BEGIN_RESOURCE(apptimist_files_js)
#embed "../Web/files.js"
END_RESOURCE(apptimist_files_js)

BEGIN_RESOURCE(apptimist_forum_js)
#embed "../Web/forum.js"
END_RESOURCE(apptimist_forum_js)

BEGIN_RESOURCE(apptimist_forums_js)
#embed "../Web/forums.js"
END_RESOURCE(apptimist_forums_js)

BEGIN_RESOURCE(apptimist_link_js)
#embed "../Web/link.js"
END_RESOURCE(apptimist_link_js)

BEGIN_RESOURCE(apptimist_linking_js)
#embed "../Web/linking.js"
END_RESOURCE(apptimist_linking_js)

BEGIN_RESOURCE(apptimist_nacl_fast_js)
#embed "../Web/nacl-fast.js"
END_RESOURCE(apptimist_nacl_fast_js)

BEGIN_RESOURCE(apptimist_oidc_js)
#embed "../Web/oidc.js"
END_RESOURCE(apptimist_oidc_js)

BEGIN_RESOURCE(apptimist_page_js)
#embed "../Web/page.js"
END_RESOURCE(apptimist_page_js)

BEGIN_RESOURCE(apptimist_passphrase_js)
#embed "../Web/passphrase.js"
END_RESOURCE(apptimist_passphrase_js)

BEGIN_RESOURCE(apptimist_people_js)
#embed "../Web/people.js"
END_RESOURCE(apptimist_people_js)

BEGIN_RESOURCE(apptimist_qr_js)
#embed "../Web/qr.js"
END_RESOURCE(apptimist_qr_js)

BEGIN_RESOURCE(apptimist_qrcode_js)
#embed "../Web/qrcode.js"
END_RESOURCE(apptimist_qrcode_js)

BEGIN_RESOURCE(apptimist_settings_js)
#embed "../Web/settings.js"
END_RESOURCE(apptimist_settings_js)

BEGIN_RESOURCE(apptimist_siwe_js)
#embed "../Web/siwe.js"
END_RESOURCE(apptimist_siwe_js)

BEGIN_RESOURCE(apptimist_store_js)
#embed "../Web/store.js"
END_RESOURCE(apptimist_store_js)

BEGIN_RESOURCE(apptimist_wakes_js)
#embed "../Web/wakes.js"
END_RESOURCE(apptimist_wakes_js)

BEGIN_RESOURCE(apptimist_worker_js)
#embed "../Web/worker.js"
END_RESOURCE(apptimist_worker_js)

BEGIN_RESOURCE(apptimist_app_css)
#embed "../Web/app.css"
END_RESOURCE(apptimist_app_css)

BEGIN_RESOURCE(apptimist_icon_svg)
#embed "../Web/icon.svg"
END_RESOURCE(apptimist_icon_svg)

BEGIN_RESOURCE(apptimist_index_html)
#embed "../Web/index.html"
END_RESOURCE(apptimist_index_html)

BEGIN_RESOURCE(apptimist_manifest_webmanifest)
#embed "../Web/manifest.webmanifest"
END_RESOURCE(apptimist_manifest_webmanifest)

BEGIN_RESOURCE(apptimist_names_js)
#embed "../Web/names.js"
END_RESOURCE(apptimist_names_js)

BEGIN_RESOURCE(apptimist_terms_js)
#embed "../Web/terms.js"
END_RESOURCE(apptimist_terms_js)

BEGIN_RESOURCE(apptimist_icon_180_png)
#embed "../Web/icon-180.png"
END_RESOURCE(apptimist_icon_180_png)

BEGIN_RESOURCE(apptimist_icon_192_png)
#embed "../Web/icon-192.png"
END_RESOURCE(apptimist_icon_192_png)

BEGIN_RESOURCE(apptimist_icon_512_png)
#embed "../Web/icon-512.png"
END_RESOURCE(apptimist_icon_512_png)

BEGIN_RESOURCE(apptimist_icon_maskable_png)
#embed "../Web/icon-maskable.png"
END_RESOURCE(apptimist_icon_maskable_png)
