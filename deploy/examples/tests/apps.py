"""Builds the native apps of deploy/examples for this machine, with doubles of what only a phone has."""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
NAMESPACE = ["unshare", "--map-root-user", "--mount"]
NAMES = ["react-native", "android", "ios"]


def missing(name: str, options):
    """What is needed to run the app and is not installed; None if all is."""
    if not shutil.which("chromium"):
        return "chromium"
    if name == "android":
        if not options.kotlin or not list(pathlib.Path(options.kotlin).glob("kotlin-stdlib-*.jar")):
            return "the Kotlin compiler"
        return None if shutil.which("java") and shutil.which("keytool") else "java"
    if name == "ios" and not (os.path.exists(AUTHORITIES) and succeeds([*NAMESPACE, "true"])):
        return "a mount namespace"
    program = {"react-native": "node", "ios": "swift"}[name]
    return None if shutil.which(program) else program


def start(name: str, folder: pathlib.Path, gateway, options):
    """The command that runs the app, its environment, and its bridge in a page."""
    return {"react-native": react_native, "android": android, "ios": ios}[name](folder, gateway, options)


def react_native(folder, gateway, options):
    app = folder / "app"
    shutil.copytree(EXAMPLES / "react-native", app)
    modules = app / "node_modules"
    for double in (HERE / "react-native/doubles").glob("*.mjs"):
        (modules / double.stem).mkdir(parents=True)
        shutil.copy(double, modules / double.stem / "index.mjs")
        (modules / double.stem / "package.json").write_text('{"main": "index.mjs"}')
    shutil.copy(HERE / "react-native/phone.mjs", app)
    environment = {"NODE_EXTRA_CA_CERTS": gateway.certificate, "NODE_OPTIONS": "--dns-result-order=ipv4first"}
    return ["node", str(app / "phone.mjs")], environment, "window.ReactNativeWebView"


def android(folder, gateway, options):
    jars = ":".join(str(jar) for jar in pathlib.Path(options.kotlin).glob("*.jar"))
    sources = [*(EXAMPLES / "android").rglob("*.kt"), *(HERE / "android").rglob("*.kt")]
    compiler = ["java", "-cp", jars, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-Werror"]
    run([*compiler, "-cp", jars, "-d", str(folder / "classes"), *map(str, sources)])
    trust = str(folder / "trust.p12")
    store = ["-storetype", "PKCS12", "-storepass", "changeit", "-keystore", trust]
    run(["keytool", "-importcert", "-noprompt", "-alias", "gateway", "-file", gateway.certificate, *store])
    options = [f"-Djavax.net.ssl.trustStore={trust}", "-Djavax.net.ssl.trustStorePassword=changeit", "-Djava.net.preferIPv4Stack=true"]
    return ["java", *options, "-cp", f"{folder / 'classes'}:{jars}", "PhoneKt"], {}, "window.sallyport"


def ios(folder, gateway, options):
    """The example's sources and the doubles of Apple's frameworks are one package."""
    scratch = pathlib.Path(options.scratch or folder / "swift")
    package, build = scratch / "package", scratch / "build"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(HERE / "ios", package)
    shutil.copytree(EXAMPLES / "ios/Sources/NativeApp", package / "Sources/NativeApp")
    run(["swift", "build", "--package-path", str(package), "--scratch-path", str(build)])
    # Foundation has no other place for the certificates that it trusts: the app sees the gateway's there.
    shell = f'mount --bind "$0" {AUTHORITIES} && exec "$1"'
    words = [*NAMESPACE, "sh", "-c", shell, gateway.certificate, f"{build}/debug/Phone"]
    return words, {}, "window.webkit.messageHandlers.sallyport"


def succeeds(words) -> bool:
    return shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True).returncode == 0


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f"{words[0]}: {done.stdout}")
