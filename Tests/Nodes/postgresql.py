"""A PostgreSQL server in a temporary folder, with a socket there and no port; gone when the `with` block ends."""
import contextlib, glob, os, pwd, shutil, signal, subprocess, tempfile, time

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
# PostgreSQL doesn't run as root.
OWNER = pwd.getpwnam("postgres") if os.getuid() == 0 else pwd.getpwuid(os.getuid())


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, user=OWNER.pw_uid,
                          group=OWNER.pw_gid, extra_groups=[], cwd="/").stdout.strip()


class PostgreSQL:
    def __init__(self, folder=None, **settings):
        self.folder = folder or tempfile.mkdtemp(prefix="awd-postgresql-")
        os.chown(self.folder, OWNER.pw_uid, OWNER.pw_gid)
        self.settings = {"listen_addresses": "", "unix_socket_directories": self.folder, "max_connections": 300,
                         **settings}
        self.process = None

    def make(self):
        run(f"{PROGRAMS}/initdb", "-D", f"{self.folder}/data", "-U", "awd", "-A", "trust", "-E", "UTF8",
            "--locale=C.UTF-8", "--no-sync")
        return self

    def start(self):
        options = [option for name, value in self.settings.items() for option in ("-c", f"{name}={value}")]
        self.log = open(f"{self.folder}/log", "ab")
        self.process = subprocess.Popen(
            [f"{PROGRAMS}/postgres", "-D", f"{self.folder}/data", *options], stdout=self.log, stderr=self.log,
            user=OWNER.pw_uid, group=OWNER.pw_gid, extra_groups=[], cwd="/", start_new_session=True)
        for _ in range(600):
            with contextlib.suppress(subprocess.CalledProcessError):
                self.query("SELECT 1")
                return self
            time.sleep(0.05)
        raise SystemExit(f"PostgreSQL doesn't start; see {self.folder}/log")

    def stop(self, how=signal.SIGINT):
        """SIGQUIT ends it as if the power had gone."""
        if self.process:
            self.process.send_signal(how)
            self.process.wait(60)
            self.log.close()
            self.process = None

    def query(self, sql, database="postgres"):
        return run(f"{PROGRAMS}/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "awd", "-c", sql,
                   database)

    def url(self, database):
        return f"postgresql://awd@/{database}?host={self.folder}"

    def __enter__(self):
        return self.make().start()

    def __exit__(self, *_):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
