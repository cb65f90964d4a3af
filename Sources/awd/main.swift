internal import Commands

Program(services: services).main()
