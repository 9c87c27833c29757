import Foundation
import TestSupport
import Testing

/// Runs the documented commands for the image as they are written. A chroot of the image's files replaces the container
/// engine: `docker` is a script that handles mounts, users and variables as the engine would.
@Suite struct ContainerTests {
    /// The commands in the guide on containers.
    private static func printed() throws -> String {
        try Documents.block("sh", beginning: "docker build -f deploy/Dockerfile -t sallyport .\n")
    }

    @Test func dockerfileBeginsWithTheCommandsOfTheGuide() throws {
        let dockerfile = try PackageFiles.text("deploy/Dockerfile")
        let lines = dockerfile.split(separator: "\n").filter { $0.hasPrefix("#   ") }.map { $0.dropFirst(4) }
        #expect(lines.joined(separator: "\n") + "\n" == (try Self.printed()))
    }

    /// False where the namespaces that a container needs cannot be made.
    private static let canTry =
        getuid() == 0
        && (try? PackageFiles.run(["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true"]))??.status
            == 0

    @Test(.enabled(if: canTry, "needs root and namespaces")) func printedCommandsStartAGatewayThatSignsUsersIn() throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-image-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let image = folder.appending(path: "image")
        try Self.build(image)
        try Self.write(Self.engine, to: folder.appending(path: "bin/docker"))
        // The commands are usually not typed as root.
        try Self.write("#!/bin/sh\necho 1000\n", to: folder.appending(path: "bin/id"))
        try Self.write(Self.users, to: folder.appending(path: "work/users.yaml"))
        try Self.write(try Self.printed(), to: folder.appending(path: "printed.sh"))
        try Self.write(Self.trial, to: folder.appending(path: "trial.sh"))
        let probe = try #require(
            try PackageFiles.text("deploy/Dockerfile").split(separator: "\n").first { $0.hasPrefix("HEALTHCHECK ") }?
                .firstMatch(of: /CMD \[(.*)\]/)
        )
        let result = try #require(
            try PackageFiles.run(
                [
                    "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash",
                    folder.appending(path: "trial.sh").path, folder.path,
                ] + probe.1.split(separator: ", ").map { String($0.dropFirst().dropLast()) }
            )
        )
        #expect(result.status == 0, "\(result.output)")
        for line in [
            "page 303 http://localhost:8080/.sallyport/login?return_to=/", "signed in 303 http://localhost:8080/",
            "app 200", "health 0", "secret 600 1000", "admin from outside of the container's loopback: refused",
        ] {
            #expect(result.output.contains("\(line)\n"), "\(line): \(result.output)")
        }
    }

    /// The image's own user, entry point and command. The first process of a container gets only the signals that it handles.
    @Test(.enabled(if: canTry, "needs root and namespaces"))
    func imageServesAsNobodyAndAsTheFirstProcessOfAReadOnlyContainer() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-image-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let image = folder.appending(path: "image")
        try Self.build(image)
        try Self.write(Self.users, to: image.appending(path: "etc/sallyport/users.yaml"))
        try Self.write(String(repeating: "k3y-", count: 16), to: image.appending(path: "etc/sallyport/secret"))
        try Self.write(Self.first, to: folder.appending(path: "first.sh"))
        let instructions = try ImageTests().instructions
        func words(_ name: String) throws -> [String] {
            let instruction = try #require(instructions.first { $0.hasPrefix("\(name) ") })
            return instruction.matches(of: /"([^"]*)"/).map { String($0.1) }
        }
        let user = try #require(instructions.first { $0.hasPrefix("USER ") }).dropFirst("USER ".count)
        let script = ["bash", folder.appending(path: "first.sh").path, folder.path, String(user)]
        let command = try words("ENTRYPOINT") + words("CMD")
        let result = try #require(try PackageFiles.run(["unshare", "--mount", "--net"] + script + command))
        #expect(result.status == 0, "\(result.output)")
        for line in ["Uid: 65532", "NSpid: 1", "read-only", "health 200 ok", "stopped 0"] {
            #expect(result.output.contains("\(line)\n"), "\(line): \(result.output)")
        }
    }

    private static let users = """
        - identifier: ada@example.com
          id: user-1815
          password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:lHHYXaLrymOQDFxvQUuvdIYNDh7G2grhLeb5SKqkknk"

        """

    // MARK: The image

    /// The file tree of the Dockerfile: what it copies, on top of the run image.
    private static func build(_ image: URL) throws {
        let binary = ".build/release/sallyport"
        let ldd = try #require(try PackageFiles.run(["ldd", binary]))
        var libraries: [String: String] = [:]
        for line in ldd.output.split(separator: "\n") {
            guard let word = line.split(separator: " ").first(where: { $0.contains("/") }) else { continue }
            let path = word.trimmingPrefix(while: \.isWhitespace)
            guard let name = path.split(separator: "/").last else { continue }
            libraries[String(name)] = String(path)
            if ImageTests.carried.contains(String(name)) || name.hasPrefix("ld-linux") {
                try self.copy(String(path), to: image.appending(path: String(path)))
            }
        }
        for instruction in try ImageTests().instructions where instruction.hasPrefix("COPY --from=build ") {
            let words = instruction.split(separator: " ").map(String.init)
            let name = try #require(words[2].split(separator: "/").last.map(String.init))
            // Only a crash calls it.
            if name == "swift-backtrace-static" { continue }
            let source = name == "sallyport" ? binary : try #require(libraries[name], "\(name)")
            let target = image.appending(path: words[3])
            try self.copy(source, to: target)
            if name == "sallyport" {
                let stripped = try #require(try PackageFiles.run(["strip", "--strip-debug", target.path]))
                #expect(stripped.status == 0, "\(stripped.output)")
            }
        }
        for folder in ["dev", "proc", "tmp"] {
            try FileManager.default.createDirectory(
                at: image.appending(path: folder),
                withIntermediateDirectories: true
            )
        }
        try self.write("127.0.0.1 localhost\n", to: image.appending(path: "etc/hosts"))
        try self.write("hosts: files dns\n", to: image.appending(path: "etc/nsswitch.conf"))
    }

    private static func copy(_ source: String, to target: URL) throws {
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        let source = source.hasPrefix("/") ? URL(filePath: source) : PackageFiles.root.appending(path: source)
        try FileManager.default.copyItem(at: source.resolvingSymlinksInPath(), to: target)
    }

    private static func write(_ text: String, to file: URL) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }

    // MARK: The engine

    /// Accepts the documented options and no others.
    private static let engine = #"""
        #!/usr/bin/env bash
        set -euo pipefail
        image=$TRIAL/image
        verb=$1
        shift
        case $verb in
            build) exit 0 ;;
            exec)
                shift
                mapfile -t environment <"$TRIAL/environment"
                read -r user <"$TRIAL/user"
                exec env -i "${environment[@]}" /usr/sbin/chroot --userspec="$user" --groups= "$image" "$@"
                ;;
        esac
        user=65532:65532 isReadOnly='' environment=() mounts=()
        while [[ $1 == -* ]]; do
            case $1 in
                --rm) shift ;;
                --read-only) isReadOnly=1 && shift ;;
                --name | --cap-drop | --security-opt | -p) shift 2 ;;
                --user) user=$2 && shift 2 ;;
                --add-host) echo "127.0.0.1 ${2%%:*}" >>"$image/etc/hosts" && shift 2 ;;
                -v) mounts+=("$2") && shift 2 ;;
                -e) environment+=("$2") && shift 2 ;;
                *) echo "unknown option $1" >&2 && exit 125 ;;
            esac
        done
        [[ $1 == sallyport ]]
        shift
        mount --bind "$image" "$image"
        mount --rbind /proc "$image/proc"
        mount --rbind /dev "$image/dev"
        for mount in "${mounts[@]}"; do
            IFS=: read -r source target mode <<<"$mount"
            if [[ -d $source ]]; then mkdir -p "$image$target"; else mkdir -p "$image${target%/*}" && touch "$image$target"; fi
            mount --bind "$source" "$image$target"
            if [[ $mode == ro ]]; then mount -o remount,bind,ro "$image$target"; fi
        done
        if [[ $isReadOnly ]]; then mount -o remount,bind,ro "$image"; fi
        printf '%s\n' "${environment[@]}" >"$TRIAL/environment"
        echo "$user" >"$TRIAL/user"
        exec env -i "${environment[@]}" /usr/sbin/chroot --userspec="$user" --groups= "$image" /usr/bin/sallyport "$@"
        """#

    /// Pastes the commands, signs in, and runs the image's health check.
    private static let trial = #"""
        set -euo pipefail
        export TRIAL=$1 PATH="$1/bin:$PATH"
        shift
        \#(loopback)
        mount --make-rprivate /
        cd "$TRIAL/work"
        chown -R 1000:1000 .
        mkdir "$TRIAL/app"
        echo hello >"$TRIAL/app/index.html"
        python3 -m http.server 3000 --directory "$TRIAL/app" >/dev/null 2>&1 &
        bash -e "$TRIAL/printed.sh" >"$TRIAL/log" 2>&1 &
        for _ in $(seq 300); do
            if grep -q '"admin listening"' "$TRIAL/log" && curl -s -o /dev/null http://localhost:3000/; then break; fi
            sleep 0.1
        done
        show() { echo "no answer:"; cat "$TRIAL/log"; exit 1; }
        ask() { curl -sS -m 10 -o /dev/null -w "$1" "${@:2}" || show; }
        ask 'page %{http_code} %{redirect_url}\n' -H 'Accept: text/html' http://localhost:8080/
        ask 'signed in %{http_code} %{redirect_url}\n' -c "$TRIAL/jar" -H 'Origin: http://localhost:8080' \
            --data-urlencode identifier=ada@example.com --data-urlencode 'password=analytical engine' -d return_to=/ \
            http://localhost:8080/.sallyport/login
        ask 'app %{http_code}\n' -b "$TRIAL/jar" http://localhost:8080/
        status=0
        docker exec sallyport "$@" || status=$?
        echo "health $status"
        echo "secret $(stat -c '%a %u' secret)"
        if grep -q '"admin listening".*127.0.0.1:9090' "$TRIAL/log"; then
            echo "admin from outside of the container's loopback: refused"
        fi
        """#

    /// Brings the loopback interface of a new network namespace up.
    private static let loopback = """
        python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 0x41))'
        """

    /// Starts the image with nothing but its settings, asks it and stops it, as an engine does.
    private static let first = #"""
        set -euo pipefail
        image=$1/image log=$1/log user=$2
        shift 2
        \#(loopback)
        chown -R "$user" "$image/etc/sallyport"
        chmod -R go= "$image/etc/sallyport"
        mount --make-rprivate /
        mount --bind "$image" "$image"
        mount --rbind /proc "$image/proc"
        mount --rbind /dev "$image/dev"
        mount -o remount,bind,ro "$image"
        settings=(SALLYPORT_PUBLIC_URL=http://localhost:8080 SALLYPORT_UPSTREAM=http://127.0.0.1:3000
            SALLYPORT_USERS_FILE=/etc/sallyport/users.yaml SALLYPORT_SECRET_FILE=/etc/sallyport/secret SALLYPORT_DRAIN_DELAY=0s)
        unshare --pid --fork --kill-child --mount-proc="$image/proc" \
            env -i "${settings[@]}" /usr/sbin/chroot --userspec="$user" --groups= "$image" "$@" >"$log" 2>&1 &
        engine=$!
        trap 'kill -9 $engine 2>/dev/null || true' EXIT
        for _ in $(seq 300); do
            if grep -q '"admin listening"' "$log"; then break; fi
            sleep 0.1
        done
        process=$(tr -d ' ' <"/proc/$engine/task/$engine/children")
        awk '/^(NSpid|Uid):/ { print $1, $NF }' "/proc/$process/status"
        touch "$image/tmp/file" 2>/dev/null || echo "read-only"
        echo "health $(env -i /usr/sbin/chroot --userspec="$user" --groups= "$image" /usr/bin/sallyport healthcheck --live)"
        kill -TERM "$process"
        status=0
        wait "$engine" || status=$?
        echo "stopped $status"
        """#
}
