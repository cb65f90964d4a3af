#include "CommandsResources.h"

BEGIN_RESOURCE(commands_completion_bash)
#embed "Completion/completion.bash"
END_RESOURCE(commands_completion_bash)

BEGIN_RESOURCE(commands_completion_fish)
#embed "Completion/completion.fish"
END_RESOURCE(commands_completion_fish)

BEGIN_RESOURCE(commands_completion_zsh)
#embed "Completion/completion.zsh"
END_RESOURCE(commands_completion_zsh)

BEGIN_RESOURCE(commands_frontdoor_css)
#embed "FrontDoor/frontdoor.css"
END_RESOURCE(commands_frontdoor_css)

BEGIN_RESOURCE(commands_frontdoor_html)
#embed "FrontDoor/frontdoor.html"
END_RESOURCE(commands_frontdoor_html)

BEGIN_RESOURCE(commands_status_css)
#embed "Status/status.css"
END_RESOURCE(commands_status_css)

BEGIN_RESOURCE(commands_status_html)
#embed "Status/status.html"
END_RESOURCE(commands_status_html)

BEGIN_RESOURCE(commands_awd_1)
#embed "awd.1"
END_RESOURCE(commands_awd_1)
