"""A forum of one account posts to 2,000 readers without pause."""

from attack import ATTACKER, CANARY, Canary, Server, attack, verdict
from Apptimist.device import CONFIGURATION, Device, Service, User, plant_users, writer

# Without the quota, which would end it after some seconds.
with Server(CONFIGURATION + 'forum_posts_size = "1TiB"\n') as server:
    server.stop()
    readers = plant_users(server, 2_000)
    server.start()
    service = Service(server)
    devices = [Device(service, User("author"), ATTACKER).join()]
    author = devices[0].user
    forum = devices[0].make_forum(readers)
    devices += [Device(service, author, ATTACKER).join() for _ in range(3)]
    posts = [0]

    def post(device: Device):
        def body():
            for _ in range(20):
                device.post(forum.key, b"x")
            device.barrier()
            posts[0] += 20
        return body

    with Canary(server, writer(service, CANARY)) as canary:
        attack([post(device) for device in devices], 12)
    longest = server.metric("awd_store_longest_transaction_seconds")
    verdict("apptimist_writer", canary, p50_ms=(round(canary.quantile(0.5) * 1000), 150), posts=(20, posts[0], None),
            longest_transaction=(longest, 0.5))
