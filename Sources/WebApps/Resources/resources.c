#include "WebAppsResources.h"

BEGIN_RESOURCE(webapps_style_css)
#embed "style.css"
END_RESOURCE(webapps_style_css)

BEGIN_RESOURCE(webapps_view_js)
#embed "view.js"
END_RESOURCE(webapps_view_js)

BEGIN_RESOURCE(webapps_base_css)
#embed "Pages/base.css"
END_RESOURCE(webapps_base_css)

BEGIN_RESOURCE(webapps_message_css)
#embed "Pages/message.css"
END_RESOURCE(webapps_message_css)

BEGIN_RESOURCE(webapps_page_html)
#embed "Pages/page.html"
END_RESOURCE(webapps_page_html)

BEGIN_RESOURCE(webapps_de_js)
#embed "de.js"
END_RESOURCE(webapps_de_js)

BEGIN_RESOURCE(webapps_es_js)
#embed "es.js"
END_RESOURCE(webapps_es_js)

BEGIN_RESOURCE(webapps_icons_js)
#embed "icons.js"
END_RESOURCE(webapps_icons_js)

BEGIN_RESOURCE(webapps_words_js)
#embed "words.js"
END_RESOURCE(webapps_words_js)
