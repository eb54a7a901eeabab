# `nix run github:engram-tape/engram -- --help`; `nix profile install github:engram-tape/engram`.
{
  description = "Coding-agent logs in, tapes out: one event stream for every harness";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      workspace = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "engram-tape";
          inherit (workspace) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "engram-tape" ];
          # The tests read fixtures, start browsers and harnesses, and take half an hour; CI runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/engram man manuals
            installManPage manuals/*.1
            installShellCompletion --cmd engram \
              --bash <($out/bin/engram completions bash) \
              --zsh <($out/bin/engram completions zsh) \
              --fish <($out/bin/engram completions fish)
          '';
          meta = {
            description = "Coding-agent logs in, tapes out";
            homepage = workspace.repository;
            license = pkgs.lib.licenses.asl20;
            mainProgram = "engram";
          };
        };
      });
    };
}
