import Settings

/// Settings files: any bytes are settings or problems that can be told, never a crash.
enum SettingsFuzzing {
    static func yaml(_ bytes: [UInt8]) -> String? {
        let files = SettingsFiles(
            read: { path, _ throws(SettingsFiles.Fault) in
                guard path == "fuzz.yaml" else { throw SettingsFiles.Fault("no such file") }
                return bytes
            },
            isReadable: { $0 == "fuzz.yaml" }
        )
        do throws(SettingsFailure) {
            _ = try SettingsLoader.load(
                file: "fuzz.yaml",
                environment: [:],
                flags: InsecureFlags(http: true),
                files: files
            )
            return nil
        } catch {
            return error.problems.isEmpty || error.problems.contains { "\($0)".isEmpty }
                ? "a failure without a problem" : nil
        }
    }
}
