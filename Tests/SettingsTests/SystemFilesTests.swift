import Foundation
import Settings
import Testing

@Suite("Files of the system")
struct SystemFilesTests {
    @Test("settings and the files they name are read from disk, relative to the settings' directory")
    func readsFiles() throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "sallyport-settings-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "sallyport.yaml")
        try Data((SettingsBench.base + "secret_file: secret\n").utf8).write(to: file)
        #expect(throws: SettingsFailure.self) {
            try SettingsLoader.load(file: file.path, environment: [:], flags: InsecureFlags())
        }
        try Data("\(canary)\n".utf8).write(to: directory.appending(path: "secret"))
        let loaded = try SettingsLoader.load(file: file.path, environment: [:], flags: InsecureFlags())
        #expect(loaded.settings.secrets != nil)
    }

    @Test("a missing file, a directory and one that is too large are refused by name")
    func refusesOthers() {
        for (path, found) in [
            ("/nowhere/sallyport.yaml", "no such file"), ("/", "a directory"),
            ("/dev/zero", "a file of more than 1MiB"),
        ] {
            let failure = #expect(throws: SettingsFailure.self) {
                try SettingsLoader.load(file: path, environment: [:], flags: InsecureFlags())
            }
            #expect(failure?.problems.map(\.found) == [found])
        }
    }

    @Test("a secret's file is open to all if its mode and its folders let everybody in")
    func modes() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-modes-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, link) = (folder.appending(path: "secret").path, folder.appending(path: "link").path)
        try Data("x".utf8).write(to: URL(filePath: file))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        for (mode, folderMode, isOpen) in [
            (0o644, 0o755, true), (0o640, 0o755, false), (0o600, 0o755, false), (0o644, 0o750, false),
        ] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            try FileManager.default.setAttributes([.posixPermissions: folderMode], ofItemAtPath: folder.path)
            for path in [file, link] {
                #expect(SettingsFiles.system.isOpenToAll(path) == isOpen, "\(mode), \(folderMode)")
            }
        }
        #expect(!SettingsFiles.system.isOpenToAll(folder.path + "/missing"))
    }
}
