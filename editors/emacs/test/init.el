;; What a user's init file says for stepline, and quiet for the test. -*- lexical-binding: t; -*-
(setq inhibit-startup-screen t suggest-key-bindings nil make-backup-files nil auto-save-default nil create-lockfiles nil
      native-comp-deferred-compilation nil native-comp-jit-compilation nil)
(add-to-list 'load-path (getenv "STEPLINE_LISP"))
(require 'stepline-eglot)
(add-hook 'python-mode-hook #'eglot-ensure)
