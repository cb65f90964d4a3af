complete -c awd -a '(awd complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
